import type { Transition } from '../../decisions/machine-types/transition.ts';

/** `1 VM`, `12 VMs`. */
export const formatVms = (count: number): string => `${count} ${count === 1 ? 'VM' : 'VMs'}`;

/** Empty for all namespaces (null). */
export const within = (namespaces: readonly string[] | null): string =>
  namespaces === null ? '' : ` in namespace ${namespaces.join(', ')}`;

/** What a transition does to the machine types of its VMs, in a few words. */
export function formatAim(
  { scope, to, restartNow }: Pick<Transition, 'scope' | 'to' | 'restartNow'>,
  formatGlob = (glob: string): string => glob,
): string {
  const what =
    scope.undoes === null ? `${formatGlob(scope.glob)} to ${to ?? 'the default'}` : `undo of ${scope.undoes}`;
  return `${what}, VMIs ${restartNow ? 'restarted by drover' : 'restarted by their owners'}`;
}

export const because = (why: string | null): string => (why === null ? '' : `: ${why}`);
