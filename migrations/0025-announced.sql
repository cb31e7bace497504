-- Things that an event has announced and that no read has shown yet: a replica of the service may
-- lag behind its events. A row leaves when the mirror shows the thing, or after hours.
create table announced (
  thing text not null check (thing in ('delivery', 'refund')),
  thing_id integer not null,
  order_id integer not null,
  -- As the event has it, where it is one of ours; null: only that the thing is there.
  status text,
  sent_at integer not null,
  -- When it was first announced: from then on it is waited for.
  since integer not null,
  primary key (order_id, thing, thing_id)
) strict, without rowid;
