import type { Session } from '../../contract/messages.ts';

type Hidden = Session['unseen'];

/** What the user may not see of what the page is about: one about single namespaces needs no kinds of the cluster. */
export const hiddenFrom = (session: Session | null): Hidden =>
  (session?.unseen ?? []).filter(
    ({ isForbidden, namespace }) => isForbidden && (namespace !== null || session!.namespaces === null),
  );

export const isHidden = (hidden: Hidden, what: string): boolean => hidden.some((one) => one.what === what);

/** Such as ` in default`; empty for the whole cluster. */
export function formatWhere(hidden: Hidden): string {
  const names = [...new Set(hidden.flatMap(({ namespace }) => namespace ?? []))];
  return names.length === 0 ? '' : ` in ${names.join(', ')}`;
}
