"""The MCP server: the use cases as tools for coding agents."""
