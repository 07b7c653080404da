import { claimHolderOf } from '../../kubernetes/served.ts';
import type { Session } from './session.ts';

const known = new WeakMap<Session, Map<string, Promise<string>>>();

/**
 * Returns the name of the workers that serve a namespace, by default that of the command: the workers that it is left
 * to, or else the cluster's. Users who may not read that get the cluster's.
 */
export function workersIn(session: Session, namespace = ''): Promise<string> {
  const names = known.get(session) ?? new Map<string, Promise<string>>();
  known.set(session, names);
  const name = names.get(namespace) ?? read(session, namespace);
  names.set(namespace, name);
  return name;
}

async function read(session: Session, namespace: string): Promise<string> {
  try {
    return (await claimHolderOf(await session.kube(), namespace || (await session.namespace()))) ?? session.cluster;
  } catch {
    return session.cluster;
  }
}
