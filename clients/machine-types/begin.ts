import type { Transition } from '../../decisions/machine-types/transition.ts';
import { missingWorkers } from '../missing-workers.ts';
import { note, print } from '../output.ts';
import type { Session } from '../session.ts';
import { followTransition } from './follow.ts';
import type { FollowFlags } from './options.ts';
import { startTransition } from './start.ts';
import { aimInWords } from './words.ts';

/** Starts a transition and follows it, as the flags say; with `--dry-run` prints what it would do. */
export async function beginTransition(session: Session, transition: Transition, { wait }: FollowFlags): Promise<void> {
  const handle = await startTransition(session, transition);
  print(`${handle.workflowId} begun: ${aimInWords(transition)}`);
  if (wait) return followTransition(session, handle, { untilChanged: !transition.restartNow });
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}
