"""Models behind a server with OpenAI's interface."""
