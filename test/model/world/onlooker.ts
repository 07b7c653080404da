import type { GivenInput } from '../../../decisions/pool/on-record.ts';
import type { Look } from '../../../decisions/rollout/checks/check.ts';
import type { Write } from './api-server.ts';
import type { Call } from './model-client.ts';
import type { Run } from './temporal/run.ts';
import type { Seen } from './worker.ts';

/** Notified of writes and calls at the moment in which they happen. */
export interface Onlooker {
  onWrite?: (write: Write, by: Call | null) => void;
  onCall?: (call: Call) => void;
  /** A call of a worker was refused, by `World.refuse`. */
  onRefused?: (call: Call) => void;
  /** `inputOf`: what the plan was made from; undefined if the worker's cache does not know the pool. */
  onPlan?: (planned: Seen, inputOf: () => GivenInput | undefined) => void;
  /** A worker has looked at the check of a step of this pool, by its UID, and not yet recorded what it saw. */
  onLook?: (pool: string, outcome: Look['outcome']) => void;
  /** A workflow begins. */
  onBegin?: (run: Run) => void;
  /** A workflow signals another. */
  onSignal?: (from: Run, name: string, args: unknown[]) => void;
  /** A client signals the workflow of this id. */
  onAsked?: (id: string, name: string) => void;
}
