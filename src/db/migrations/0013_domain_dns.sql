-- Sending domains and what the DNS says of them.
comment on table brands is null; -- placeholder
