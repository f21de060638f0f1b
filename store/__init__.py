"""What must last: schema and migrations, event log, ledger and history queries. It knows the runtime's types and no screen."""
