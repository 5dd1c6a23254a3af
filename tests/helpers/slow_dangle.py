"""Dangle and R-Dangle one sentence, one prefix, one pair of tokens at a time: the definition of the
fast passes.

Modules of the model are used for their parameters alone; everything is float64 and without dropout.
"""

import functools
import math

import torch
import torch.nn.functional as F


def project(module, x, part, parts):
    """One of the square parts of a fused projection."""
    bias = None if module.bias is None else module.bias.chunk(parts)[part]
    return F.linear(x, module.weight.chunk(parts)[part], bias)


def attend(query, keys, values, heads, relative=None, visible=None):
    """[Q, d], [L, d], [L, d] -> [Q, d]; ``relative`` [Q, L, d_head], the vector between i and j;
    ``visible`` [Q, L].
    """
    width = query.shape[1] // heads
    columns = []
    for h in range(heads):
        q, k, v = (x[:, h * width : (h + 1) * width] for x in (query, keys, values))
        logits = q @ k.T
        if relative is not None:
            logits = (
                logits
                + torch.einsum("id,ijd->ij", q, relative)
                + torch.einsum("jd,ijd->ij", k, relative)
            )
        if visible is not None:
            logits = logits.masked_fill(~visible, -math.inf)
        columns.append((logits / math.sqrt(width)).softmax(1) @ v)
    return torch.cat(columns, 1)


def clipped(limit, distance):
    return max(-limit, min(limit, distance)) + limit


@functools.cache
def distances(limit, queries, keys):
    """Rows of a table of distances, [Q, L]."""
    return torch.tensor([[clipped(limit, i - j) for j in keys] for i in queries])


@functools.cache
def mixed_distances(limit, n, queries, keys):
    """The same for [source; target tokens, END], of which n are the source's, and its three tables
    joined.
    """

    def row(i, j):
        if (i < n) == (j < n):
            return clipped(limit, i - j) + (0 if i < n else 2 * limit + 1)
        return 2 * (2 * limit + 1) + (0 if i < n else 1)

    return torch.tensor([[row(i, j) for j in keys] for i in queries])


def mixed_vectors(table, n, queries, keys):
    if table is None:
        return None
    return torch.cat((table.source, table.target, table.across))[
        mixed_distances(table.limit, n, queries, keys)
    ]


@functools.cache
def not_later(queries, keys):
    """Whether j is not after i, [Q, L]."""
    return torch.tensor([[j <= i for j in keys] for i in queries])


def self_attention(attention, query, memory, relative, visible=None):
    q = project(attention.project_in, query, 0, 3)
    keys, values = (project(attention.project_in, memory, part, 3) for part in (1, 2))
    return attention.project_out(attend(q, keys, values, attention.heads, relative, visible))


def sublayer(layer, norm, x, function):
    """Residual, norm before or after."""
    if layer.pre:
        return x + function(norm(x))
    return norm(x + function(x))


def feed(layer, x):
    net = layer.feed_forward
    return sublayer(
        layer, layer.feed_forward_norm, x, lambda z: net.contract(F.relu(net.expand(z)))
    )


def plain_layer(layer, x, causal=False):
    """An encoder layer, or the self-attention of a decoder layer."""
    places, table, relative = range(len(x)), layer.attention.relative, None
    if table is not None:
        relative = table.table[distances(table.limit, places, places)]
    visible = not_later(places, places) if causal else None

    def function(z):
        return self_attention(layer.attention, z, z, relative, visible)

    x = sublayer(layer, layer.attention_norm, x, function)
    return x if causal else feed(layer, x)


def mixed_layer(layer, x, n):
    places = range(len(x))
    relative = mixed_vectors(layer.attention.relative, n, places, places)

    def function(z):
        return self_attention(layer.attention, z, z, relative)

    return feed(layer, sublayer(layer, layer.attention_norm, x, function))


def cross_attention(cross, x, keys, values):
    memory = project(cross.project_memory, keys, 0, 2), project(cross.project_memory, values, 1, 2)
    return cross.project_out(attend(cross.project_query(x), *memory, cross.heads))


def decoder_layer(layer, y, keys, values):
    y = plain_layer(layer, y, causal=True)
    return feed(
        layer,
        sublayer(
            layer, layer.cross_norm, y, lambda z: cross_attention(layer.cross, z, keys, values)
        ),
    )


def sinusoid(place, width):
    """fairseq's position vector; places of words start at 2."""
    half = width // 2
    angles = [place * math.exp(-math.log(10000) * k / (half - 1)) for k in range(half)]
    return torch.tensor(
        [math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64
    )


def word(model, embedding, token, kind, place=None):
    x = embedding.weight[token] * math.sqrt(model.config.width) + kind
    if model.config.positions == "sinusoidal":
        # float32, as the model's.
        x = x + sinusoid(place + 2, model.config.width).float().double()
    return x


def slow_states(model, source, target):
    """The last states [m, width] for one pair.

    :param target: the ids that the decoder reads.
    """
    config, n, m = model.config, len(source), len(target)
    x = [
        word(model, model.source_embedding, token, model.source_type, i)
        for i, token in enumerate(source)
    ]
    x = torch.stack(x)
    once, form = None, getattr(config, "values", "shared")
    if config.architecture == "r_dangle" and form == "separate":
        once = value_states(model, x)
    points = list(range(0, m, getattr(config, "interval", 1)))
    states = []
    for start, end in zip(points, [*points[1:], m], strict=True):
        # Absolute positions of the target count from its newest token.
        y = [
            word(model, model.target_embedding, target[j], model.target_type, start - j)
            for j in range(end)
        ]
        y = torch.stack(y)
        read = torch.cat((x, y[: start + 1]))
        if getattr(config, "form", None) == "encoder_only":
            states.append(mixed(model.mixed, read, model.end, n)[-1:])
            continue
        keys = values = encoded(model, model.mixed, read, model.end, n)
        if config.architecture == "r_dangle":
            keys = values = model.encoder_norm(keys)
        if form == "separate":
            values = once
        for layer in model.decoder:
            y = decoder_layer(layer, y, keys, values)
        states.append(y[start:])
    return model.decoder_norm(torch.cat(states))


def value_states(model, x):
    """The source's states that values are made of, where they are made once."""
    return model.value_norm(encoded(model, model.value_encoder, x, model.source_end, len(x)))


def mixed(layers, read, end, n):
    """The states of mixed layers over [source; target tokens], n of them the source's, and a
    vector.
    """
    z = torch.cat((read, end[None]))
    for layer in layers:
        z = mixed_layer(layer, z, n)
    return z


def encoded(model, layers, read, end, n):
    """The source's states of these mixed layers and the layers above."""
    z = mixed(layers, read, end, n)[:n]
    for layer in model.encoder:
        z = plain_layer(layer, z)
    return z


def slow_logits(model, source, target):
    """Logits [m, vocabulary] for one pair of lists of ids."""
    return slow_states(model, source, target) @ model.target_embedding.weight.T
