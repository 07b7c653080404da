import { othersOf } from '../../decisions/machine-types/others.ts';
import type { VmView } from '../../decisions/vm.ts';
import { sentenceOf } from '../failure.ts';
import type { Session } from '../session.ts';
import { runningTransitions, shortIdOf } from './transitions.ts';

/** Transitions that keep others away from the VMs that they have in hand. */
export interface OthersRunning {
  ids: Set<string>;
  /** Why nobody knows; null where it is known. */
  unknown: string | null;
}

/** Of the transitions that VMs carry something of, those that still run; Temporal is asked only where there are any. */
export async function othersRunning(session: Session, vms: readonly VmView[]): Promise<OthersRunning> {
  const others = othersOf(vms, '');
  if (others.size === 0) return { ids: others, unknown: null };
  try {
    const running = (await runningTransitions(session)).map(shortIdOf);
    return { ids: new Set(running.filter((id) => others.has(id))), unknown: null };
  } catch (error) {
    return { ids: new Set(), unknown: `whether another transition has some of these VMs in hand is not known: ${sentenceOf(error)}` };
  }
}
