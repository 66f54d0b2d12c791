-- Sessions of people who sign in.
comment on table brands is null; -- placeholder
