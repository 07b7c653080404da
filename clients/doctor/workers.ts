import { CLAIM_NAME, type Claim } from '../../api/claims/claim.ts';
import { Leases } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { taskQueueOf } from '../../workflows/lib/messages.ts';
import type { Session } from '../session/session.ts';
import { pollersOf, workersIn } from '../session/workers.ts';
import { CLIENT, versionsAmong } from '../version/versions.ts';
import { call, failed, ok, warning, type Found, type Looked } from './finding.ts';

export async function lookAtWorkers(session: Session): Promise<Looked> {
  const workers = await workersIn(session);
  const pollers = await pollersOf(session, workers);
  const queue = taskQueueOf(workers);
  if (pollers.length === 0)
    return failed(
      `no worker polls the task queue ${queue}: nothing happens`,
      'start workers: docs/deploy.md, or `drover worker`',
    );
  const found: Found[] = [];
  const versions = versionsAmong(pollers);
  const count = new Set(pollers.map(({ identity }) => identity)).size;
  if (versions.some((version) => version !== CLIENT.client))
    found.push(
      warning(
        `the workers run drover ${versions.join(', ')}, and this command is drover ${CLIENT.client}`,
        'use one release: docs/deploy.md says in which order to upgrade',
      ),
    );
  if (count === 1)
    found.push(
      warning(
        `one worker polls the task queue ${queue}: while it is replaced, nothing happens`,
        'run two or more, on different nodes',
      ),
    );
  return found.length > 0 ? found : ok(`${count} workers of drover ${CLIENT.client} poll the task queue ${queue}`);
}

/** Looks for namespaces that are left to their own workers. */
export async function lookAtNamespaces(kube: KubeClient, cluster: string): Promise<Looked> {
  const { items } = await kube.list<Claim>(Leases, { fieldSelector: `metadata.name=${CLAIM_NAME}`, ...call() });
  const delegated = items.filter(({ spec }) => spec?.holderIdentity !== undefined);
  if (delegated.length === 0)
    return ok(`no namespace has its own workers: the workers of ${cluster} serve all namespaces`);
  const namespaces = delegated.map(({ metadata, spec }) => `${metadata.namespace} (${spec!.holderIdentity})`);
  return ok(`these namespaces are left to their own workers: ${namespaces.toSorted().join(', ')}`);
}
