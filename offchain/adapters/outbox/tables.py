"""Tables of the outbox: intents, the extrinsics signed for them, and which extrinsic contains which intents."""

from __future__ import annotations

TABLES = [
    """
    CREATE TABLE intents (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        account TEXT NOT NULL,
        key TEXT NOT NULL,
        call TEXT NOT NULL,
        successor TEXT,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        not_before INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL,
        block INTEGER, block_hash BLOB, block_index INTEGER,
        failure TEXT,
        reason TEXT,
        UNIQUE (account, key)
    ) STRICT;
    CREATE INDEX intents_by_state ON intents (account, state, seq);
    CREATE TABLE extrinsics (
        hash BLOB PRIMARY KEY,
        seq INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
        data BLOB NOT NULL,
        nonce INTEGER NOT NULL,
        born INTEGER NOT NULL,
        valid_until INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        alive INTEGER NOT NULL,
        doubted INTEGER NOT NULL DEFAULT 0,
        confirmed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX extrinsics_by_seq ON extrinsics (seq);
    CREATE TABLE lanes (account TEXT PRIMARY KEY, scanned INTEGER NOT NULL) STRICT
    """,
    # An extrinsic may carry several intents, each as an item of a batch call.
    """
    CREATE TABLE flights (
        hash BLOB PRIMARY KEY,
        account TEXT NOT NULL,
        data BLOB NOT NULL,
        nonce INTEGER NOT NULL,
        born INTEGER NOT NULL,
        valid_until INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        alive INTEGER NOT NULL,
        doubted INTEGER NOT NULL DEFAULT 0,
        confirmed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE carried (
        hash BLOB NOT NULL REFERENCES flights ON DELETE CASCADE,
        seq INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
        item INTEGER NOT NULL,
        PRIMARY KEY (hash, seq)
    ) STRICT;
    CREATE INDEX carried_by_seq ON carried (seq);
    INSERT INTO flights SELECT x.hash, i.account, x.data, x.nonce, x.born, x.valid_until, x.sent_at, x.alive, x.doubted,
        x.confirmed FROM extrinsics x JOIN intents i USING (seq);
    INSERT INTO carried SELECT hash, seq, 0 FROM extrinsics;
    DROP TABLE extrinsics
    """,
    # An extrinsic that no block takes is followed by one with the same number and a tip; both may come into a block.
    """
    ALTER TABLE flights ADD COLUMN tip INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE flights ADD COLUMN outbid INTEGER NOT NULL DEFAULT 0
    """,
    # What is kept of past calls must not slow down the present ones: at a million tasks a day a worker keeps half a
    # million of them.
    """
    ALTER TABLE intents ADD COLUMN ended_at INTEGER;
    UPDATE intents SET ended_at = coalesce(block, (SELECT scanned FROM lanes WHERE lanes.account = intents.account), 0)
        WHERE state IN ('done', 'failed', 'dead');
    CREATE INDEX intents_by_end ON intents (account, state, ended_at) WHERE ended_at IS NOT NULL;
    CREATE INDEX flights_alive ON flights (account, nonce) WHERE alive
    """,
    # A host's heartbeat goes before its reports: nodes accept one free call of an account in a block.
    """
    ALTER TABLE intents ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX intents_queued ON intents (account, urgent DESC, seq) WHERE state = 'queued'
    """,
    # Extrinsics are stored in the order in which they were signed, and found by hash only while a block may include
    # them. By hash alone, each row of the past would be on a page of its own: a busy outbox read hundreds of them from
    # the disk for each block.
    """
    CREATE TABLE extrinsics (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL,
        account TEXT NOT NULL,
        data BLOB NOT NULL,
        nonce INTEGER NOT NULL,
        born INTEGER NOT NULL,
        valid_until INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        alive INTEGER NOT NULL,
        doubted INTEGER NOT NULL DEFAULT 0,
        confirmed INTEGER NOT NULL DEFAULT 0,
        tip INTEGER NOT NULL DEFAULT 0,
        outbid INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE extrinsic_intents (
        extrinsic INTEGER NOT NULL REFERENCES extrinsics ON DELETE CASCADE,
        seq INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
        item INTEGER NOT NULL,
        PRIMARY KEY (extrinsic, seq)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO extrinsics SELECT rowid, hash, account, data, nonce, born, valid_until, sent_at, alive, doubted,
        confirmed, tip, outbid FROM flights ORDER BY rowid;
    INSERT INTO extrinsic_intents SELECT x.rowid, c.seq, c.item FROM carried c JOIN flights x USING (hash)
        ORDER BY x.rowid, c.seq;
    DROP TABLE carried;
    DROP TABLE flights;
    CREATE INDEX extrinsic_intents_by_seq ON extrinsic_intents (seq);
    CREATE INDEX extrinsics_alive ON extrinsics (account, nonce) WHERE alive;
    CREATE UNIQUE INDEX extrinsics_by_hash ON extrinsics (hash) WHERE alive
    """,
]
