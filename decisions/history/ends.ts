/**
 * How an act on a VM ends: the words of `drover history`, of Temporal's Web UI, and of the outcomes that batches
 * and runs report. `docs/pools.md` has the same table, and a test compares. `is`: whether that is what was wanted
 * (`well`), is not (`bad`), or is neither; `open` if it is not known yet.
 */
export const ACT_ENDS = {
  InProgress: { is: 'open', what: 'it is in progress' },
  Queued: { is: 'open', what: 'its turn in the batch has not come yet' },
  Requested: { is: 'well', what: 'a user has asked for it' },
  Done: { is: 'well', what: 'it is done' },
  Updated: { is: 'well', what: 'it runs the revision' },
  Started: { is: 'well', what: 'it is ready' },
  Restarted: { is: 'well', what: 'it is ready, with another VMI' },
  Stopped: { is: 'well', what: 'it has stopped' },
  Migrated: { is: 'well', what: 'it runs in another pod' },
  Patched: { is: 'well', what: 'it is changed' },
  Healed: { is: 'well', what: 'it is well again' },
  Failed: { is: 'bad', what: 'it was not well in time, or could not be changed' },
  Refused: { is: 'bad', what: 'the API server or KubeVirt refused, or a worker refused the request' },
  Invalid: { is: 'bad', what: 'the request was not valid' },
  TimedOut: { is: 'bad', what: 'no worker began in time, and it is planned again' },
  UnhealthyAgain: { is: 'bad', what: 'the VM in its place was unhealthy, too' },
  GivenUp: { is: 'bad', what: 'it was replaced as often as `maxAttempts` allows, and is unhealthy' },
  Unknown: { is: 'bad', what: 'it is no longer known' },
  Deferred: { is: 'skipped', what: 'something prevented it, and it is tried again' },
  NotBegun: { is: 'skipped', what: 'its turn did not come before the rollout was stopped' },
  RestartRequired: { is: 'skipped', what: 'KubeVirt did not apply the change to it: it needs a restart' },
  Superseded: { is: 'skipped', what: 'a newer revision takes the place of this one' },
  Gone: { is: 'skipped', what: 'it has left the pool, or a user has deleted, started or stopped it meanwhile' },
  Left: { is: 'skipped', what: 'it was left as it was, or in part' },
  Skipped: { is: 'skipped', what: 'a user has asked not to heal it' },
  Changed: { is: 'skipped', what: 'another client changed it meanwhile' },
  Taken: { is: 'skipped', what: 'another owner has a VM of its name' },
  NotWanted: { is: 'skipped', what: 'it was no longer wanted' },
} as const satisfies Record<string, { is: 'well' | 'bad' | 'skipped' | 'open'; what: string }>;

export type ActEndName = keyof typeof ACT_ENDS;
