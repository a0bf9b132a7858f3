"""Who is next: queues, their shares and limits, and the order in which a planning round looks at waiting tasks.

`tree` defines queues (`text` reads them from a file), `turn` gives one task after the other, `rights` says what lent
resources are taken back, `fairness` measures. docs/scheduling.md, section "Who is next".
"""
