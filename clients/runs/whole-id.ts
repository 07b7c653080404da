import { UsageError } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';

/**
 * Returns the whole id of a workflow that a person started, given that or its last part; `idOf` makes ids of its kind,
 * and `kind` names the kind. Throws `UsageError` for any other workflow's id: a pool's workflow would understand a
 * `pause`, too.
 */
export function wholeIdOf(
  { cluster }: Pick<Session, 'cluster'>,
  id: string,
  { idOf, kind }: { idOf: (cluster: string, id: string) => string; kind: string },
): string {
  if (id === '') throw new UsageError(`which ${kind}? "" is no id`);
  if (!id.includes('/')) return idOf(cluster, id);
  const own = idOf(cluster, '');
  if (id.startsWith(own)) {
    const last = id.slice(own.length);
    if (last !== '' && !last.includes('/')) return id;
    throw new UsageError(`${id} is no ${kind}`);
  }
  const isOfKind = id.startsWith(own.slice(0, own.indexOf('/') + 1));
  throw new UsageError(
    isOfKind ? `${id} is of another cluster than ${cluster}: give that one with --cluster` : `${id} is no ${kind}`,
  );
}
