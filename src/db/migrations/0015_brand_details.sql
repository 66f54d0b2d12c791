-- What a brand says of itself and the images it keeps.
comment on table brands is null; -- placeholder
