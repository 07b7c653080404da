/**
 * How much is remembered of what has happened, by what: lists in statuses, in what a workflow hands from turn to turn,
 * and on VMs. All have a limit, since a status and a history have one. A list that is full never permits more than a
 * longer one would: what does not fit counts on, holds back or is refused. `test/caps.test.ts` fills each with ten
 * times as much, so each has a property there. A test may change one; nothing else does.
 */
export const CAPS = {
  /** VMs that have failed in a rollout. A rollout with so many is halted, whatever else its pool allows. */
  failures: 1_000,
  /** How many of these keep their messages. */
  failureMessages: 100,
  /** VMs that a batch has given back. If there are more, all of the pool wait as long as the one that waits longest. */
  deferred: 1_000,
  /** Batches of a pool in flight: no more begin. */
  batches: 250,
  /** Cycles of healing in progress: no more begin. */
  healingCycles: 100,
  /** VMs whose healing has ended. No cycle begins that would not find a place once it ends. */
  healingEnds: 500,
  /** VMs of which early ends, or failing starts, are carried on, each kind by itself: others seem well for longer. */
  vmsWatched: 50,
  /** VMs that were left alone while they were not ready. If there are more, all of the pool count as left alone. */
  vmiPauses: 100,
  /** VMs that could not be moved off a drained node, and wait. While there are so many, no others are tried. */
  refusedEvacuations: 1_000,
  /** VMs that a step could not act on, for each reason. If there are more, whatever refuses them may refuse all. */
  refusedNames: 250,
  /** Contents of Secrets and ConfigMaps that did not change when they were written. Older writes count as no change. */
  contents: 100,
  /** What users and batches have told a workflow since the last plan. What is told again takes the place of that. */
  signals: 250,
  /** Answers to requests that stand on a pool: one stands at a time, and was answered last. */
  handledRequests: 10,
  /** Places in a pool's disruption budget: no more are given. */
  claims: 1_000,
  /** VMs of a pool that are no replicas: the API server refuses more, and drover writes each before it makes the VM. */
  roles: 2_000,
  /** Changes of a VM that can be undone: an older one stays. */
  changes: 5,
  /** Failed VMIs of one VM that a worker remembers: fewer make a VM no less healthy. */
  failedVmis: 20,
  /** Failures of an operation that keep their messages; all are counted. */
  failureReasons: 100,
  /** Failures of a machine type transition: more end it. */
  transitionFailures: 1_000,
};
