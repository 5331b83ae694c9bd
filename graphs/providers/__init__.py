"""Chat models of providers other than OpenAI: LangChain's classes, bounded.

Each module is imported when a setting names its provider, and has
`open_model(name, options)`.
"""
