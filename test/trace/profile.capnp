# The profile of a run as osmarks/ipu-stack writes it: its identifier, ordinals and types, in words of our own.
# `capnp` makes test files from it and reads ours with it.
@0xbadb9c24f7721fa3;

struct Profile {
  schemaVersion @0 :UInt32;
  clockHz @1 :UInt64;
  tiles @2 :List(TileProfile);
}

struct TileProfile {
  physicalTile @0 :UInt32;
  samples @1 :List(Sample);
}

struct Sample {
  step @0 :Step;
  startCycle @1 :UInt32;
  endCycle @2 :UInt32;
}

struct Step {
  localIndex @0 :UInt32;
  phase @1 :UInt32;
  epoch @2 :UInt32;
  operation @3 :Text;
  kind @4 :Kind;
  kernel @5 :Text;
  metadata @6 :List(Entry);
  exchangeActivities @7 :List(Activity);
  exchangeEventCycles @8 :UInt32;

  enum Kind {
    exchange @0;
    compute @1;
    synchronization @2;
    idle @3;
  }
}

struct Entry {
  name @0 :Text;
  value @1 :Text;
}

struct Activity {
  kind @0 :Kind;
  startCycle @1 :UInt32;
  endCycle @2 :UInt32;

  enum Kind {
    send @0;
    receive @1;
    partnerBusy @2;
  }
}
