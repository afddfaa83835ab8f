"""How implementations are found: hooks, registry, options, contracts."""
