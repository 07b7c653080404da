import { sentenceOf } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';
import { workersIn } from '../session/workers.ts';
import { lookAtApiServer, lookAtClock } from './api-server.ts';
import { lookAtDefinitions, lookAtPolicies } from './definitions.ts';
import { carryOut, failed, findingsOf, unknown, type Check, type Finding } from './finding.ts';
import { lookAtCdi, lookAtKubeVirt, lookAtSubresources } from './kubevirt.ts';
import { lookAtUser, lookAtWorkerRights, type WorkerAccount } from './rights.ts';
import { lookAtDoor, lookAtSearchAttributes, lookAtTemporal, lookAtWatch } from './temporal.ts';
import { lookAtNamespaces, lookAtWorkers } from './workers.ts';

/**
 * Looks at everything that drover needs, and yields what each check has found, in a fixed order. Changes nothing. If a
 * server does not answer, what only that server could tell is unknown.
 */
export async function examine(session: Session, worker: WorkerAccount): Promise<Finding[]> {
  const [ofCluster, ofTemporal] = await Promise.all([examineCluster(session, worker), examineTemporal(session)]);
  return [...ofCluster, ...ofTemporal];
}

async function examineCluster(session: Session, worker: WorkerAccount): Promise<Finding[]> {
  const first = await reach('API server', 'give the right cluster with --kubeconfig or --context', async () =>
    lookAtApiServer(await session.kube()),
  );
  const isThere = first.every(({ outcome }) => outcome === 'OK');
  const [kube, namespace] = isThere ? [await session.kube(), await session.namespace()] : [undefined!, ''];
  const checks: Check[] = [
    { name: 'Your rights', look: () => lookAtUser(kube, namespace) },
    { name: 'Definitions', look: () => lookAtDefinitions(kube) },
    { name: 'Admission policies', look: () => lookAtPolicies(kube, namespace) },
    {
      name: "Workers' rights",
      look: async () => {
        const isDelegated = (await workersIn(session)) !== session.cluster;
        return lookAtWorkerRights(kube, worker, isDelegated ? namespace : undefined);
      },
    },
    { name: 'Namespaces', look: () => lookAtNamespaces(kube, session.cluster) },
    { name: 'KubeVirt', look: () => lookAtKubeVirt(kube) },
    { name: 'virt-api', look: () => lookAtSubresources(kube) },
    { name: 'CDI', look: () => lookAtCdi(kube) },
  ];
  if (!isThere) return [...first, ...skipped([...checks, CLOCK], 'the API server')];
  const found = (await Promise.all(checks.map(carryOut))).flat();
  // After all others: each answer tells more of the API server's clock.
  return [...first, ...found, ...findingsOf(CLOCK.name, lookAtClock(kube))];
}

const CLOCK = { name: 'Clock' };

async function examineTemporal(session: Session): Promise<Finding[]> {
  const first = await reach('Temporal', 'start it, or give its address with --address or TEMPORAL_ADDRESS', () =>
    lookAtTemporal(session),
  );
  const checks: Check[] = [
    { name: 'Access to Temporal', look: async () => lookAtDoor(await session.temporal()) },
    { name: 'Search attributes', look: async () => lookAtSearchAttributes(await session.temporal()) },
    { name: 'Watch', look: () => lookAtWatch(session) },
    { name: 'Workers', look: () => lookAtWorkers(session) },
  ];
  if (first.some(({ outcome }) => outcome === 'Failed')) return [...first, ...skipped(checks, 'Temporal')];
  return [...first, ...(await Promise.all(checks.map(carryOut))).flat()];
}

const reach = async (check: string, fix: string, look: Check['look']): Promise<Finding[]> =>
  findingsOf(check, await look().catch((error: unknown) => failed(sentenceOf(error), fix)));

const skipped = (checks: readonly { name: string }[], without: string): Finding[] =>
  checks.flatMap(({ name }) => findingsOf(name, unknown(`not looked at without ${without}`)));
