"""The tables, as numbered migrations: forward only, one transaction each. A migration that was released is never edited."""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE projects (
            id TEXT PRIMARY KEY, root TEXT NOT NULL, fix_verify_retry_cap INTEGER CHECK (fix_verify_retry_cap BETWEEN 1 AND 20),
            created_at TEXT NOT NULL)""",
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, project TEXT NOT NULL, repo TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL,
            tenant TEXT, category TEXT, queued_at TEXT NOT NULL, last_at TEXT NOT NULL, last_seq INTEGER NOT NULL,
            state TEXT NOT NULL, reason TEXT, attempt INTEGER NOT NULL DEFAULT 0, workspace TEXT, summary TEXT NOT NULL DEFAULT '{}',
            host TEXT, pid INTEGER, pid_started REAL)""",
        "CREATE INDEX runs_by_time ON runs (queued_at DESC)",
        "CREATE INDEX runs_by_project ON runs (project, queued_at DESC)",
        "CREATE INDEX runs_open ON runs (state) WHERE reason IS NULL",
        """CREATE TABLE attempts (
            run TEXT NOT NULL, attempt INTEGER NOT NULL, leg INTEGER NOT NULL, model TEXT NOT NULL, started_at TEXT NOT NULL,
            finished_at TEXT, passed INTEGER, cause TEXT, fixed INTEGER, new INTEGER, still INTEGER, pre_existing INTEGER,
            verify_wall_ms INTEGER, verify_cpu_ms INTEGER, verify_micros INTEGER, PRIMARY KEY (run, attempt)) WITHOUT ROWID""",
        """CREATE TABLE events (
            run TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, at TEXT NOT NULL, mono_ms INTEGER NOT NULL,
            body TEXT NOT NULL, PRIMARY KEY (run, seq)) WITHOUT ROWID""",
        """CREATE TABLE snapshots (
            run TEXT NOT NULL, seq INTEGER NOT NULL, version INTEGER NOT NULL, view TEXT NOT NULL,
            PRIMARY KEY (run, seq)) WITHOUT ROWID""",
        """CREATE TABLE verify_results (
            run TEXT NOT NULL, attempt INTEGER NOT NULL, step INTEGER NOT NULL, seq INTEGER NOT NULL, command TEXT NOT NULL,
            verdict TEXT NOT NULL, exit_code INTEGER, findings INTEGER, collected INTEGER, wall_ms INTEGER, cpu_ms INTEGER,
            output_path TEXT, PRIMARY KEY (run, attempt, step, seq)) WITHOUT ROWID""",
        """CREATE TABLE llm_usage (
            call_id TEXT PRIMARY KEY, at TEXT NOT NULL, day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
            project TEXT NOT NULL, tenant TEXT, category TEXT, run TEXT, leg INTEGER, attempt INTEGER, round INTEGER,
            purpose TEXT NOT NULL, input INTEGER, output INTEGER, cache_read INTEGER, cache_write_5m INTEGER,
            cache_write_1h INTEGER, estimated TEXT NOT NULL, cost_micros INTEGER, price_version TEXT, latency_ms INTEGER,
            ttft_ms INTEGER, request_id TEXT, outcome TEXT NOT NULL) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX llm_usage_request ON llm_usage (provider, request_id) WHERE request_id IS NOT NULL",
        "CREATE INDEX llm_usage_by_run ON llm_usage (run)",
        "CREATE INDEX llm_usage_by_day ON llm_usage (day, project)",
        """CREATE TABLE stoploss_scores (
            run TEXT NOT NULL, step INTEGER NOT NULL, scorer TEXT NOT NULL, score REAL, threshold REAL, mode TEXT NOT NULL,
            PRIMARY KEY (run, step, scorer)) WITHOUT ROWID""",
        """CREATE TABLE recovery_decisions (
            run TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, action TEXT NOT NULL, router TEXT NOT NULL,
            quotes TEXT NOT NULL, overridden_by TEXT, PRIMARY KEY (run, attempt, seq)) WITHOUT ROWID""",
        """CREATE TABLE calibrations (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, made_at TEXT NOT NULL, project TEXT, model TEXT, scorer TEXT,
            runs INTEGER NOT NULL, body TEXT NOT NULL)""",
        """CREATE TABLE conversations (
            project TEXT NOT NULL, run TEXT NOT NULL, turn INTEGER NOT NULL, role TEXT NOT NULL, kind TEXT NOT NULL,
            text TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (project, run, turn)) WITHOUT ROWID""",
        """CREATE TABLE commands (
            id TEXT PRIMARY KEY, run TEXT NOT NULL, at TEXT NOT NULL, command TEXT NOT NULL, sender TEXT NOT NULL,
            accepted INTEGER NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE reservations (
            call_id TEXT PRIMARY KEY, run TEXT NOT NULL, project TEXT NOT NULL, tenant TEXT, day TEXT NOT NULL,
            tokens INTEGER NOT NULL, micros INTEGER, at TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
            pid_started REAL NOT NULL, scope TEXT NOT NULL) WITHOUT ROWID""",
        "CREATE INDEX reservations_by_run ON reservations (run)",
    ),
    (
        # A run's line in a list needs no second look; who executes it shows that it still does.
        *(
            f"ALTER TABLE runs ADD COLUMN {column}"
            for column in (
                "heartbeat TEXT",
                "claimed INTEGER NOT NULL DEFAULT 0",
                "worker TEXT NOT NULL DEFAULT ''",
                "leg INTEGER NOT NULL DEFAULT 0",
                "attempt_of_leg INTEGER NOT NULL DEFAULT 0",
                "rounds INTEGER NOT NULL DEFAULT 0",
                "cap INTEGER",
                "budget_tokens INTEGER",
                "budget_micros INTEGER",
                "failing INTEGER",
                "held TEXT",
                "held_text TEXT NOT NULL DEFAULT ''",
                "paused INTEGER NOT NULL DEFAULT 0",
                "score REAL",
                "threshold REAL",
                "files INTEGER",
                "added INTEGER",
                "removed INTEGER",
                "detail TEXT NOT NULL DEFAULT ''",
                "result_ref TEXT",
                "delivered TEXT NOT NULL DEFAULT ''",
            )
        ),
        "UPDATE runs SET summary = '' WHERE summary = '{}'",
        "DROP INDEX runs_by_time",
        "DROP INDEX runs_by_project",
        "CREATE INDEX runs_newest ON runs (queued_at DESC, id DESC)",
        "CREATE INDEX runs_newest_of_project ON runs (project, queued_at DESC, id DESC)",
        *(
            f"ALTER TABLE attempts ADD COLUMN {column}"
            for column in (
                "attempt_of_leg INTEGER",
                "phase_end TEXT NOT NULL DEFAULT ''",
                "first_failure TEXT NOT NULL DEFAULT ''",
                "files INTEGER",
                "added INTEGER",
                "removed INTEGER",
                "tree TEXT",
                "edited_tests INTEGER",
            )
        ),
        "ALTER TABLE verify_results ADD COLUMN name TEXT NOT NULL DEFAULT ''",
        # Some servers give every reply the same id: within one round of one purpose it is the same reply, else another one.
        "ALTER TABLE llm_usage ADD COLUMN extra TEXT NOT NULL DEFAULT '{}'",
        "DROP INDEX llm_usage_request",
        """CREATE UNIQUE INDEX llm_usage_reply ON llm_usage
            (provider, request_id, coalesce(run, ''), coalesce(round, -1), purpose) WHERE request_id IS NOT NULL""",
        # Sums for budgets come from the index alone.
        "CREATE INDEX llm_usage_by_project ON llm_usage (project, cost_micros)",
        "CREATE INDEX llm_usage_by_tenant ON llm_usage (tenant, cost_micros) WHERE tenant IS NOT NULL",
        *(
            f"ALTER TABLE reservations ADD COLUMN {column}"
            for column in (
                "provider TEXT NOT NULL DEFAULT 'unknown'",
                "model TEXT NOT NULL DEFAULT 'unknown'",
                "output_tokens INTEGER NOT NULL DEFAULT 0",
            )
        ),
        # A command's id is its sender's and means something within its run.
        "ALTER TABLE commands RENAME TO commands_before",
        """CREATE TABLE commands (
            run TEXT NOT NULL, id TEXT NOT NULL, at TEXT NOT NULL, command TEXT NOT NULL, sender TEXT NOT NULL,
            accepted INTEGER NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (run, id)) WITHOUT ROWID""",
        """INSERT INTO commands (run, id, at, command, sender, accepted, answer)
            SELECT run, id, at, command, sender, accepted, answer FROM commands_before""",
        "DROP TABLE commands_before",
        "CREATE INDEX conversations_by_time ON conversations (project, at)",
    ),
    ("ALTER TABLE runs ADD COLUMN pruned_at TEXT",),
)
SCHEMA_VERSION = len(MIGRATIONS)
