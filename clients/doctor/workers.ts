import { CLAIM_NAME, type Claim } from '../../api/claims/claim.ts';
import { Leases } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Session } from '../session/session.ts';
import { allPollersOf, workersIn, type Poller } from '../session/workers.ts';
import { CLIENT, versionsAmong } from '../version/versions.ts';
import { call, failed, ok, warning, type Found, type Looked } from './finding.ts';

export async function lookAtWorkers(session: Session): Promise<Looked> {
  const polled = [...(await allPollersOf(session, await workersIn(session)))];
  const pollers = polled.flatMap(([, pollers]) => pollers);
  const there = polled.length > 1 ? ' there' : '';
  const polledBy = (count: number): string =>
    polled.flatMap(([queue, of]) => (countOf(of) === count ? [queue] : [])).join(', ');
  const [unpolled, lonely] = [polledBy(0), polledBy(1)];
  const found: Found[] = [];
  if (unpolled !== '')
    found.push(
      failed(
        `no worker polls the task queue ${unpolled}: nothing happens${there}`,
        'start workers: docs/deploy.md, or `drover worker`',
      ),
    );
  const versions = versionsAmong(pollers);
  if (versions.some((version) => version !== CLIENT.client))
    found.push(
      warning(
        `the workers run drover ${versions.join(', ')}, and this command is drover ${CLIENT.client}`,
        'use one release: docs/deploy.md says in which order to upgrade',
      ),
    );
  if (lonely !== '')
    found.push(
      warning(
        `one worker polls the task queue ${lonely}: while it is replaced, nothing happens${there}`,
        'run two or more, on different nodes',
      ),
    );
  if (found.length > 0) return found;
  const queues = polled.map(([queue]) => queue).join(', ');
  return ok(`${countOf(pollers)} workers of drover ${CLIENT.client} poll the task queue ${queues}`);
}

const countOf = (pollers: readonly Poller[]): number => new Set(pollers.map(({ identity }) => identity)).size;

/** Looks for namespaces that are left to their own workers. */
export async function lookAtNamespaces(kube: KubeClient, cluster: string): Promise<Looked> {
  const { items } = await kube.list<Claim>(Leases, { fieldSelector: `metadata.name=${CLAIM_NAME}`, ...call() });
  const delegated = items.filter(({ spec }) => spec?.holderIdentity !== undefined);
  if (delegated.length === 0)
    return ok(`no namespace has its own workers: the workers of ${cluster} serve all namespaces`);
  const namespaces = delegated.map(({ metadata, spec }) => `${metadata.namespace} (${spec!.holderIdentity})`);
  return ok(`these namespaces are left to their own workers: ${namespaces.toSorted().join(', ')}`);
}
