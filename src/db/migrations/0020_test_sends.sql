-- Test messages of a brand and day (UTC). They count against a bound of their own, not against the allowance of the plan.

create table test_sends (
    brand_id bigint not null references brands,
    day      date not null,
    sent     bigint not null,
    primary key (brand_id, day)
);
