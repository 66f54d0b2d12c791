-- The text of an import in slices of 64 KiB, the last one shorter. It was one value without compression, because reading a slice of a
-- compressed value decompresses all of it. Commits of other brands had to wait until a text of megabytes was in the write-ahead log.
create table import_texts (
    brand_id  bigint not null,
    import_id bigint not null,
    slice     integer not null,
    bytes     bytea not null,
    primary key (brand_id, import_id, slice),
    foreign key (brand_id, import_id) references imports on delete cascade
);
-- lz4 is quicker than pglz, the default. A server may have been built without it.
do $$
begin
    alter table import_texts alter column bytes set compression lz4;
exception when feature_not_supported then
    null;
end
$$;

insert into import_texts (brand_id, import_id, slice, bytes)
select i.brand_id, i.id, n, substring(i.csv from n * 65536 + 1 for 65536)
  from imports i, generate_series(0, (octet_length(i.csv) - 1) / 65536) n;
alter table imports drop column csv;
