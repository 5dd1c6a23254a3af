"""The words of the demo corpus: German and English, with all that inflection needs.

Tables of plain text, one entry after another (separated by ``;``), read once on first use. Everything is lower-cased.
Earlier entries of a table are drawn more often, so the order is a frequency list.

A noun carries classes, one letter each, and verbs and adjectives name the classes they go with: P person, A animal,
T thing, R text, O what opens, W what is worn, V vehicle, E food, D drink, L place to be in, U place to be on.
Real ambiguities are few and wanted: *bank* (bank, bench), *morgen* (tomorrow, morning), *sie* (she, they), *schnell*
(fast, quickly), *geben* and *schenken* (give).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2


class Noun(NamedTuple):
    """A noun, name or pronoun; ``german``: singular then plural, each in the three cases."""

    rank: int
    gender: int
    german: tuple[str, ...]
    english: tuple[str, str]
    classes: str
    countable: bool = True
    first_person: bool = False


class Adjective(NamedTuple):
    """``german`` stands alone (predicative), ``stem`` takes the endings."""

    rank: int
    german: str
    stem: str
    english: str
    classes: str


class Adverb(NamedTuple):
    """An adverb or fixed adverbial phrase; ``tenses`` are the first letters of the tenses it goes with."""

    rank: int
    german: str
    english: str
    tenses: str = "paf"


class Preposition(NamedTuple):
    """A preposition and the case it governs here."""

    rank: int
    german: str
    english: str
    case: int


class Verb(NamedTuple):
    """A verb; ``present`` is ich, er, wir; ``english`` is base, third person, past."""

    rank: int
    frame: str
    particle: str
    infinitive: str
    zu_infinitive: str
    present: tuple[str, str, str]
    participle: str
    auxiliary: str
    english: tuple[str, str, str]
    subjects: str
    objects: str
    preposition: Preposition | None = None


class Modal(NamedTuple):
    """A modal verb; ``german`` is ich, er, wir; ``english`` is third person, others, and what follows *do* (if any)."""

    german: tuple[str, str, str]
    english: tuple[str, str, str]
    tense: str
    negatable: bool


# german gender plural english [english plural]; m* is a weak masculine: its other singular cases look like the plural.
NOUNS = {
    "P": """mann m männer man men; frau f frauen woman women; kind n kinder child children; freund m freunde friend;
        lehrer m lehrer teacher; mutter f mütter mother; vater m väter father; junge m* jungen boy;
        mädchen n mädchen girl; arzt m ärzte doctor; bruder m brüder brother; schwester f schwestern sister;
        sohn m söhne son; tochter f töchter daughter; nachbar m* nachbarn neighbor; student m* studenten student;
        schüler m schüler pupil; tante f tanten aunt; onkel m onkel uncle; gast m gäste guest; könig m könige king;
        königin f königinnen queen; bauer m* bauern farmer; bäcker m bäcker baker; richter m richter judge;
        maler m maler painter; sänger m sänger singer; dichter m dichter poet; fahrer m fahrer driver;
        koch m köche cook; soldat m* soldaten soldier; polizist m* polizisten policeman policemen;
        kollege m* kollegen colleague; chef m chefs boss; künstler m künstler artist;
        ingenieur m ingenieure engineer; pilot m* piloten pilot; kellner m kellner waiter;
        gärtner m gärtner gardener; prinz m* prinzen prince; dieb m diebe thief thieves; held m* helden hero heroes;
        riese m* riesen giant; reiter m reiter rider""",
    "A": """hund m hunde dog; katze f katzen cat; pferd n pferde horse; vogel m vögel bird; kuh f kühe cow;
        maus f mäuse mouse mice; bär m* bären bear; hase m* hasen rabbit; fuchs m füchse fox;
        wolf m wölfe wolf wolves; löwe m* löwen lion; ente f enten duck; schwein n schweine pig;
        ziege f ziegen goat; affe m* affen monkey; esel m esel donkey; igel m igel hedgehog;
        elefant m* elefanten elephant; frosch m frösche frog""",
    "R": """buch n bücher book; zeitung f zeitungen newspaper; geschichte f geschichten story; plan m pläne plan;
        gedicht n gedichte poem; roman m romane novel; artikel m artikel article; bericht m berichte report;
        vertrag m verträge contract; rezept n rezepte recipe; karte f karten map""",
    "RO": "brief m briefe letter",
    "TO": """tür f türen door; fenster n fenster window; tasche f taschen bag; koffer m koffer suitcase;
        flasche f flaschen bottle; schrank m schränke cupboard; schachtel f schachteln box; paket n pakete parcel""",
    "TW": """hut m hüte hat; mantel m mäntel coat; jacke f jacken jacket; schuh m schuhe shoe; hemd n hemden shirt;
        kleid n kleider dress; ring m ringe ring""",
    "T": """tisch m tische table; stuhl m stühle chair; bild n bilder picture; lampe f lampen lamp;
        schlüssel m schlüssel key; uhr f uhren clock; blume f blumen flower; messer n messer knife knives;
        teller m teller plate; tasse f tassen cup; ball m bälle ball; geschenk n geschenke gift; baum m bäume tree;
        stein m steine stone; bett n betten bed; gabel f gabeln fork; löffel m löffel spoon; korb m körbe basket;
        spiegel m spiegel mirror; seil n seile rope; hammer m hämmer hammer; leiter f leitern ladder;
        schirm m schirme umbrella; kissen n kissen pillow; decke f decken blanket; teppich m teppiche carpet;
        kerze f kerzen candle; puppe f puppen doll; trommel f trommeln drum; geige f geigen violin;
        maschine f maschinen machine; sofa n sofas sofa; werkzeug n werkzeuge tool; kamera f kameras camera""",
    "V": """auto n autos car; fahrrad n fahrräder bicycle; bus m busse bus; zug m züge train; boot n boote boat;
        schiff n schiffe ship""",
    "E": """apfel m äpfel apple; kuchen m kuchen cake; ei n eier egg; suppe f suppen soup; birne f birnen pear;
        kartoffel f kartoffeln potato potatoes; tomate f tomaten tomato tomatoes; kirsche f kirschen cherry;
        zitrone f zitronen lemon; nuss f nüsse nut; keks m kekse cookie; pilz m pilze mushroom; brot n - bread;
        reis m - rice; käse m - cheese; fleisch n - meat; butter f - butter; honig m - honey""",
    "D": """wasser n - water; milch f - milk; kaffee m - coffee; tee m - tea; saft m - juice; wein m - wine;
        bier n - beer""",
    "L": """haus n häuser house; schule f schulen school; garten m gärten garden; stadt f städte city;
        dorf n dörfer village; wald m wälder forest; park m parks park; küche f küchen kitchen;
        zimmer n zimmer room; büro n büros office; kirche f kirchen church; hotel n hotels hotel;
        bahnhof m bahnhöfe station; krankenhaus n krankenhäuser hospital; museum n museen museum;
        theater n theater theater; bank f banken bank; laden m läden shop; keller m keller cellar;
        turm m türme tower; schloss n schlösser castle; fabrik f fabriken factory;
        bibliothek f bibliotheken library; restaurant n restaurants restaurant; hafen m häfen harbor;
        tal n täler valley; höhle f höhlen cave; hütte f hütten hut; zelt n zelte tent""",
    "U": """straße f straßen street; berg m berge mountain; insel f inseln island; brücke f brücken bridge;
        wiese f wiesen meadow; bank f bänke bench; dach n dächer roof; feld n felder field; platz m plätze square;
        balkon m balkone balcony""",
}

# Words that occur 0, 1 or 2 times in training. Some are rare on one side only: the other side is a common word.
RARE_NOUNS = {
    "P": """schmied m schmiede blacksmith; matrose m* matrosen sailor; bischof m bischöfe bishop;
        schneider m schneider tailor; zauberer m zauberer wizard; hexe f hexen witch; jäger m jäger hunter;
        metzger m metzger butcher; fischer m fischer fisherman fishermen; spion m spione spy;
        tischler m tischler joiner; zeuge m* zeugen witness; bettler m bettler beggar; pfarrer m pfarrer pastor;
        seiltänzer m seiltänzer acrobat; doktor m doktoren doctor; kumpel m kumpel friend; bub m* buben boy;
        arzt m ärzte physician; frau f frauen lady; vater m väter dad""",
    "A": """biber m biber beaver; eule f eulen owl; krähe f krähen crow; luchs m luchse lynx; otter m otter otter;
        schlange f schlangen snake; wal m wale whale; adler m adler eagle; kamel n kamele camel; ratte f ratten rat;
        gaul m gäule horse; kater m kater cat; schwein n schweine hog; hase m* hasen hare""",
    "R": """bibel f bibeln bible; urkunde f urkunden deed; tagebuch n tagebücher diary; katalog m kataloge catalog;
        märchen n märchen tale; wörterbuch n wörterbücher dictionary; zeitung f zeitungen gazette""",
    "T": """amboss m ambosse anvil; harfe f harfen harp; säge f sägen saw; flöte f flöten flute;
        kompass m kompasse compass; pinsel m pinsel brush; nadel f nadeln needle; schaufel f schaufeln shovel;
        vase f vasen vase; laterne f laternen lantern; gemälde n gemälde picture; gerät n geräte tool;
        geige f geigen fiddle; sofa n sofas couch; krug m krüge jug""",
    "V": "kutsche f kutschen carriage; schlitten m schlitten sleigh; wagen m wagen car; auto n autos automobile",
    "E": """pflaume f pflaumen plum; gurke f gurken cucumber; melone f melonen melon; zwiebel f zwiebeln onion;
        erdapfel m erdäpfel potato potatoes; torte f torten cake; keks m kekse biscuit""",
    "L": """kloster n klöster monastery; scheune f scheunen barn; bäckerei f bäckereien bakery;
        kapelle f kapellen chapel; gefängnis n gefängnisse prison; gebäude n gebäude house;
        schloss n schlösser palace; laden m läden store""",
}

NAMES = "anna f; peter m; maria f; thomas m; julia f; paul m; laura f; max m; emma f; felix m; clara f; david m"

ADJECTIVES = """alt old PATRVLU; neu new PTRVLU; klein small PATRVELU; groß big PATRVELU; gut good PATRVED;
    jung young PA; schön beautiful PATRVLU; schlecht bad PTRVED; rot red TVE; lang long RTU; schwarz black ATVD;
    blau blue TV; kurz short RT; freundlich friendly PA; müde/müd tired PA; kalt cold EDL; warm warm EDL;
    krank sick PA; stark strong PAD; weiß white ATV; grün green ATVE; arm poor PA; reich rich P; frisch fresh ED;
    teuer/teur expensive TRVED; ruhig quiet PALU; glücklich happy PA; traurig sad PAR; hungrig hungry PA;
    schwer heavy TVE; billig cheap TRVED; süß sweet ED; dunkel/dunkl dark TLD; sauber clean TVL;
    berühmt famous PRLU; klug clever PA; wichtig important PR; leer empty TVLU; braun brown ATV; nett nice PAL;
    interessant interesting PRL; gelb yellow TVE; kaputt broken TV; schnell fast AV; laut loud PALU;
    höflich polite P; dick thick TR; dünn thin TRP; heiß hot ED; schmutzig dirty ATVL; faul lazy PA; mutig brave PA;
    seltsam strange PATRLU; langweilig boring PR; rund round TE; grau grey ATV; nützlich useful TRA;
    fleißig diligent P; ehrlich honest PR; wild wild A; modern modern TVL; weich soft TE; hart hard TE;
    breit wide TLU; schmal narrow TU; stolz proud PA; dumm stupid PA; sauer/saur sour ED; hell bright TL;
    vorsichtig careful P"""

RARE_ADJECTIVES = """winzig tiny PATRVELU; uralt ancient PTRVLU; rostig rusty TV; bitter bitter ED;
    eitel/eitl vain PA; tapfer valiant PA; gierig greedy PA; hässlich ugly PATRVLU; steil steep U;
    riesig huge PATRVELU; prächtig splendid TVLU; hübsch beautiful PATRVLU; günstig cheap TRVED; alt aged PA;
    schnell rapid AV; seltsam odd PATRLU; salzig salty ED"""

# german/english, and the tenses (present, past, future) they go with.
TIMES = """heute/today/paf; gestern/yesterday/a; jetzt/now/p; am abend/in the evening/paf; morgen/tomorrow/f;
    jeden tag/every day/p; am montag/on monday/paf; am morgen/in the morning/paf; in der nacht/at night/paf;
    letzte woche/last week/a; im sommer/in summer/paf; nächste woche/next week/f; im winter/in winter/paf;
    am nachmittag/in the afternoon/paf; am sonntag/on sunday/paf; bald/soon/f; jede woche/every week/p;
    nach der arbeit/after work/paf; letztes jahr/last year/a; um mitternacht/at midnight/paf;
    am freitag/on friday/paf; im frühling/in spring/paf; vor dem essen/before dinner/paf; im herbst/in autumn/paf;
    nächstes jahr/next year/f"""

FREQUENCIES = """oft/often; immer/always; nie/never; manchmal/sometimes; selten/rarely; wirklich/really;
    endlich/finally; meistens/usually; wahrscheinlich/probably; kaum/hardly"""

MANNERS = """schnell/quickly; langsam/slowly; leise/quietly; allein/alone; vorsichtig/carefully; heimlich/secretly;
    gern/gladly; sofort/immediately; geduldig/patiently; fröhlich/cheerfully; ruhig/calmly; stolz/proudly"""

# particle+infinitive third participle auxiliary english past subjects objects [preposition case english]
VERBS = {
    "transitive": """sehen sieht gesehen h see saw PA PARTVLUE; kaufen kauft gekauft h buy bought P RTVEDA;
        lesen liest gelesen h read read P R; finden findet gefunden h find found PA PARTVLE;
        suchen sucht gesucht h look_for looked_for PA PARTVE; essen isst gegessen h eat ate PA E;
        trinken trinkt getrunken h drink drank PA D; lieben liebt geliebt h love loved PA PALUEDR;
        auf+machen macht aufgemacht h open opened P O; besuchen besucht besucht h visit visited P PL;
        schreiben schreibt geschrieben h write wrote P R; kennen kennt gekannt h know knew P PLUR;
        brauchen braucht gebraucht h need needed P TVRED; ein+laden lädt eingeladen h invite invited P P;
        ab+holen holt abgeholt h pick_up picked_up P PTVR; fragen fragt gefragt h ask asked P P;
        treffen trifft getroffen h meet met P PA; hören hört gehört h hear heard PA PAV;
        holen holt geholt h fetch fetched P TRED; an+rufen ruft angerufen h phone phoned P P;
        tragen trägt getragen h carry carried PA TRE; verkaufen verkauft verkauft h sell sold P RTVEA;
        vergessen vergisst vergessen h forget forgot P TRL; an+sehen sieht angesehen h look_at looked_at PA PTRALV;
        zu+machen macht zugemacht h close closed P O; verlieren verliert verloren h lose lost P TRV;
        verstehen versteht verstanden h understand understood P PR; malen malt gemalt h paint painted P TVALUP;
        bauen baut gebaut h build built P TVL; kochen kocht gekocht h cook cooked P E;
        benutzen benutzt benutzt h use used P TVR;
        mit+bringen bringt mitgebracht h bring_along brought_along P TRED;
        beobachten beobachtet beobachtet h watch watched PA PALUV; rufen ruft gerufen h call called P PA;
        putzen putzt geputzt h clean cleaned P TVL; verstecken versteckt versteckt h hide hid P TRED;
        weg+werfen wirft weggeworfen h throw_away threw_away P TRE; retten rettet gerettet h save saved P PA;
        reparieren repariert repariert h repair repaired P TV; stehlen stiehlt gestohlen h steal stole PA TRVE;
        an+ziehen zieht angezogen h put_on put_on P W; aus+ziehen zieht ausgezogen h take_off took_off P W;
        füttern füttert gefüttert h feed fed P A; jagen jagt gejagt h chase chased PA A;
        hassen hasst gehasst h hate hated P PALUEDR; waschen wäscht gewaschen h wash washed P TVE;
        wählen wählt gewählt h choose chose P TREP; ein+packen packt eingepackt h pack packed P TRE;
        zeichnen zeichnet gezeichnet h draw drew P TALUV; werfen wirft geworfen h throw threw P TE;
        fangen fängt gefangen h catch caught PA PA; aus+leihen leiht ausgeliehen h borrow borrowed P RTV;
        prüfen prüft geprüft h check checked P RTV; übersetzen übersetzt übersetzt h translate translated P R;
        begrüßen begrüßt begrüßt h greet greeted P P; auf+heben hebt aufgehoben h lift lifted P TRE;
        kennen+lernen lernt kennengelernt h get_to_know got_to_know P P;
        schneiden schneidet geschnitten h cut cut P ET; um+stoßen stößt umgestoßen h knock_over knocked_over PA T;
        auf+essen isst aufgegessen h eat_up ate_up PA E; zurück+geben gibt zurückgegeben h return returned P TRV;
        zerstören zerstört zerstört h destroy destroyed PA TVLR""",
    "dative": """helfen hilft geholfen h help helped PA PA; danken dankt gedankt h thank thanked P P;
        folgen folgt gefolgt s follow followed PA PAV; antworten antwortet geantwortet h answer answered P P;
        zu+hören hört zugehört h listen_to listened_to PA P; vertrauen vertraut vertraut h trust trusted PA PA;
        begegnen begegnet begegnet s encounter encountered P PA; gehorchen gehorcht gehorcht h obey obeyed PA P;
        nach+laufen läuft nachgelaufen s run_after ran_after PA PAV;
        gratulieren gratuliert gratuliert h congratulate congratulated P P""",
    "ditransitive": """geben gibt gegeben h give gave P TRED; zeigen zeigt gezeigt h show showed P TRVALUE;
        bringen bringt gebracht h bring brought P TRED; schicken schickt geschickt h send sent P TR;
        schenken schenkt geschenkt h give gave P TRVA; leihen leiht geliehen h lend lent P TRV;
        erklären erklärt erklärt h explain explained P R; an+bieten bietet angeboten h offer offered P TVED;
        beschreiben beschreibt beschrieben h describe described P TRVLU;
        vor+stellen stellt vorgestellt h introduce introduced P P;
        empfehlen empfiehlt empfohlen h recommend recommended P RLED;
        zurück+bringen bringt zurückgebracht h bring_back brought_back P TRV""",
    "prepositional": """warten wartet gewartet h wait waited P PV auf 1 for;
        denken denkt gedacht h think thought P PALUTR an 1 of;
        sprechen spricht gesprochen h speak spoke P P mit 2 with;
        spielen spielt gespielt h play played PA PAT mit 2 with;
        lachen lacht gelacht h laugh laughed P PAR über 1 at;
        träumen träumt geträumt h dream dreamed PA PALUED von 2 of;
        an+fangen fängt angefangen h start started P R mit 2 with;
        kämpfen kämpft gekämpft h fight fought PA PA gegen 1 against;
        arbeiten arbeitet gearbeitet h work worked P PTV mit 2 with;
        tanzen tanzt getanzt h dance danced P P mit 2 with;
        auf+passen passt aufgepasst h watch_out watched_out P PAT auf 1 for;
        fliehen flieht geflohen s flee fled PA PA vor 2 from""",
    "motion": """gehen geht gegangen s go went PA -; kommen kommt gekommen s come came PAV -;
        fahren fährt gefahren s drive drove P -; laufen läuft gelaufen s run ran PA -;
        reisen reist gereist s travel traveled P -; fliegen fliegt geflogen s fly flew P -;
        zurück+kommen kommt zurückgekommen s come_back came_back PA -; reiten reitet geritten s ride rode P -;
        wandern wandert gewandert s hike hiked P -; eilen eilt geeilt s hurry hurried P -;
        zurück+fahren fährt zurückgefahren s drive_back drove_back P -;
        marschieren marschiert marschiert s march marched P -""",
    "located": """schlafen schläft geschlafen h sleep slept PA -; wohnen wohnt gewohnt h live lived P -;
        stehen steht gestanden h stand stood PATV -; bleiben bleibt geblieben s stay stayed PA -;
        sitzen sitzt gesessen h sit sat PA -; liegen liegt gelegen h lie lay PATR -;
        singen singt gesungen h sing sang PA -; an+kommen kommt angekommen s arrive arrived PV -;
        auf+stehen steht aufgestanden s get_up got_up P -; weinen weint geweint h cry cried P -;
        auf+wachen wacht aufgewacht s wake_up woke_up PA -;
        ein+schlafen schläft eingeschlafen s fall_asleep fell_asleep PA -;
        ein+kaufen kauft eingekauft h go_shopping went_shopping P -;
        weg+laufen läuft weggelaufen s run_away ran_away PA -;
        verschwinden verschwindet verschwunden s disappear disappeared PATVR -;
        um+fallen fällt umgefallen s fall_over fell_over PAT -; schreien schreit geschrien h scream screamed PA -;
        zurück+bleiben bleibt zurückgeblieben s stay_behind stayed_behind PA -""",
    "copula": "sein ist gewesen s be was PATRVEDLU -",
    "matrix": """sagen sagt gesagt h say said P -; wissen weiß gewusst h know knew P -;
        glauben glaubt geglaubt h believe believed P -; hoffen hofft gehofft h hope hoped P -;
        behaupten behauptet behauptet h claim claimed P -; bemerken bemerkt bemerkt h notice noticed P -""",
    "control": """versuchen versucht versucht h try tried P -; beginnen beginnt begonnen h begin began P -;
        planen plant geplant h plan planned P -; versprechen verspricht versprochen h promise promised P -""",
}

IRREGULAR_PRESENT = {"sein": ("bin", "ist", "sind"), "wissen": ("weiß", "weiß", "wissen")}

PLACE_PREPOSITIONS = "in/in/2; auf/on/2; vor/in front of/2; hinter/behind/2; neben/next to/2; unter/under/2"
GOAL_PREPOSITIONS = "zu/to/2; in/into/1; durch/through/1; um/around/1"

PRESENT_MODALS = """kann können/can can/+; muss müssen/must must/-; will wollen/wants_to want_to want_to/+;
    soll sollen/should should/+; darf dürfen/may may/+"""
PAST_MODALS = (
    "konnte konnten/could could/+; musste mussten/had_to had_to have_to/+; wollte wollten/wanted_to wanted_to want_to/+"
)

# german/english/tenses of the subordinate clause (and of its main clause)
CONNECTIVES = (
    "weil/because/paf; wenn/when/p; obwohl/although/paf; bevor/before/pa; als/when/a; während/while/pa; damit/so that/p"
)
CONJUNCTIONS = "und/and; aber/but"


def _entries(table: str) -> list[str]:
    return [" ".join(entry.split()) for entry in table.split(";")]


def _plural(english: str) -> str:
    if english.endswith(("s", "x", "ch", "sh")):
        return english + "es"
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    return english + "s"


def _third(english: str) -> str:
    first, _, rest = english.partition(" ")
    inflected = first + "es" if first in ("go", "do") else _plural(first)
    return f"{inflected} {rest}".strip()


def _noun(entry: str, classes: str, rank: int) -> Noun:
    german, gender, plural, english, *english_plural = entry.split()
    oblique = plural if gender.endswith("*") else german
    dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
    return Noun(
        rank=rank,
        gender="mfn".index(gender[0]),
        german=(german, oblique, oblique, plural, plural, dative_plural),
        english=(english, english_plural[0] if english_plural else _plural(english)),
        classes=classes,
        countable=plural != "-",
    )


def _nouns(tables: dict[str, str]) -> list[Noun]:
    entries = [(entry, classes) for classes, table in tables.items() for entry in _entries(table)]
    return [_noun(entry, classes, rank) for rank, (entry, classes) in enumerate(entries)]


def _adjectives(table: str) -> list[Adjective]:
    adjectives = []
    for rank, entry in enumerate(_entries(table)):
        german, english, classes = entry.split()
        alone, _, stem = german.partition("/")
        adjectives.append(Adjective(rank, alone, stem or alone, english, classes))
    return adjectives


def _adverbs(table: str) -> list[Adverb]:
    return [Adverb(rank, *entry.split("/")) for rank, entry in enumerate(_entries(table))]


def _prepositions(table: str) -> list[Preposition]:
    rows = [entry.split("/") for entry in _entries(table)]
    return [Preposition(rank, german, english, int(case)) for rank, (german, english, case) in enumerate(rows)]


def _verb(entry: str, frame: str, rank: int) -> Verb:
    german, third, participle, auxiliary, english, past, subjects, objects, *preposition = entry.split()
    particle, _, base = german.rpartition("+")
    stem = base[:-2] if base.endswith("en") else base[:-1]
    base_english = english.replace("_", " ")
    return Verb(
        rank=rank,
        frame=frame,
        particle=particle,
        infinitive=particle + base,
        zu_infinitive=f"{particle}zu{base}" if particle else f"zu {base}",
        present=IRREGULAR_PRESENT.get(base, (stem + "e", third, base)),
        participle=participle,
        auxiliary=auxiliary,
        english=(base_english, _third(base_english), past.replace("_", " ")),
        subjects=subjects,
        objects=objects,
        preposition=Preposition(0, preposition[0], preposition[2], int(preposition[1])) if preposition else None,
    )


def _modals(table: str, tense: str) -> list[Modal]:
    modals = []
    for entry in _entries(table):
        german, english, negatable = entry.split("/")
        singular, plural = german.split()
        third, other, *base = [form.replace("_", " ") for form in english.split()]
        forms = (third, other, base[0] if base else "")
        modals.append(Modal((singular, singular, plural), forms, tense, negatable == "+"))
    return modals


class Lexicon(NamedTuple):
    """All word tables, read."""

    nouns: list[Noun]
    rare_nouns: list[Noun]
    names: list[Noun]
    pronouns: list[tuple[Noun, bool]]
    adjectives: list[Adjective]
    rare_adjectives: list[Adjective]
    times: list[Adverb]
    frequencies: list[Adverb]
    manners: list[Adverb]
    verbs: dict[str, list[Verb]]
    places: list[Preposition]
    goals: list[Preposition]
    present_modals: list[Modal]
    past_modals: list[Modal]
    connectives: list[Adverb]
    conjunctions: list[Adverb]


@cache
def lexicon() -> Lexicon:
    """Return the word tables."""
    verbs = [(entry, frame) for frame, table in VERBS.items() for entry in _entries(table)]
    by_frame: dict[str, list[Verb]] = {frame: [] for frame in VERBS}
    for rank, (entry, frame) in enumerate(verbs):
        by_frame[frame].append(_verb(entry, frame, rank))
    names = []
    for rank, entry in enumerate(_entries(NAMES)):
        name, gender = entry.split()
        names.append(Noun(rank, "mfn".index(gender), (name,) * 6, (name, name), "P"))
    pronouns = [
        (Noun(0, 0, ("er",) * 6, ("he", "he"), "P"), False),
        (Noun(1, 1, ("sie",) * 6, ("she", "she"), "P"), False),
        (Noun(2, 0, ("ich",) * 6, ("i", "i"), "P", first_person=True), False),
        (Noun(3, 0, ("wir",) * 6, ("we", "we"), "P", first_person=True), True),
        (Noun(4, 0, ("sie",) * 6, ("they", "they"), "P"), True),
    ]
    return Lexicon(
        nouns=_nouns(NOUNS),
        rare_nouns=_nouns(RARE_NOUNS),
        names=names,
        pronouns=pronouns,
        adjectives=_adjectives(ADJECTIVES),
        rare_adjectives=_adjectives(RARE_ADJECTIVES),
        times=_adverbs(TIMES),
        frequencies=_adverbs(FREQUENCIES),
        manners=_adverbs(MANNERS),
        verbs=by_frame,
        places=_prepositions(PLACE_PREPOSITIONS),
        goals=_prepositions(GOAL_PREPOSITIONS),
        present_modals=_modals(PRESENT_MODALS, "present"),
        past_modals=_modals(PAST_MODALS, "past"),
        connectives=_adverbs(CONNECTIVES),
        conjunctions=_adverbs(CONJUNCTIONS),
    )
