import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isLasting, whyNotNow } from './reasons.ts';

/** It can't be done now, and is waited for. */
export interface Deferred {
  need: 'deferred';
  message: string;
  /** When time alone may change that, in milliseconds since the epoch; null if only the VM or its pool can. */
  until: number | null;
  /** It may be waited for forever. */
  isStuck?: boolean;
}

/** It is not done, because the VM's owner, its pool's rules or KubeVirt say so. */
export interface Excluded {
  need: 'excluded';
  message: string;
}

/** What one VM needs, whatever disrupts it. `Act`: what is to be done. */
export type Need<Act extends object = object> = { need: 'nothing' } | ({ need: 'act' } & Act) | Deferred | Excluded;

export const NOTHING = { need: 'nothing' } as const;
export const deferred = (message: string, until: number | null = null): Deferred => ({
  need: 'deferred',
  message,
  until,
});
export const excluded = (message: string): Excluded => ({ need: 'excluded', message });

/** Returns why nothing may disrupt the VM now; null if nothing prevents it. `live`: its VMI that has not ended. */
export function blockedNeed(vm: VmView, live: VmiView | undefined): Deferred | Excluded | null {
  const reason = whyNotNow(vm, live);
  if (reason === null) return null;
  if (reason.kind === 'OptedOut') return excluded(reason.message);
  return { ...deferred(reason.message), ...(isLasting(reason) && { isStuck: true }) };
}
