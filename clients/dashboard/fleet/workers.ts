import { conditionOf, type KubeObject } from '../../../api/objects.ts';
import { Deployments } from '../../../api/resources.ts';
import type { Session } from '../../session/session.ts';
import { allPollersOf, workersIn } from '../../session/workers.ts';

/** Why nothing happens in the cluster, whatever is asked of it. */
export interface MissingWorkers {
  sentence: string;
  /** RFC 3339; null if unknown. */
  since: string | null;
}

/** As the manifests and the chart label the workers. */
const LABELS = { name: 'app.kubernetes.io/name=drover', component: 'app.kubernetes.io/component' };
const WITHIN_MS = 10_000;

interface Deployment extends KubeObject {
  spec?: { template?: { metadata?: { labels?: Record<string, string> } } };
  status?: {
    availableReplicas?: number;
    conditions?: { type: string; status: string; lastTransitionTime?: string }[];
  };
}

/**
 * Returns what tells that no worker works: that none polls Temporal or none watches the cluster, as `drover doctor`
 * finds it; or, if Temporal can't be asked, that no pod of a Deployment of workers is available. Null if nothing tells
 * so.
 */
export async function missingWorkers(session: Session): Promise<MissingWorkers | null> {
  const missing = await Promise.race([inTemporal(session), late()]).catch(() => undefined);
  return missing === undefined ? inCluster(session) : missing;
}

const late = (): Promise<undefined> => new Promise((resolve) => setTimeout(resolve, WITHIN_MS, undefined).unref());

/** Undefined if Temporal does not tell. */
async function inTemporal(session: Session): Promise<MissingWorkers | null | undefined> {
  if (!(await session.knowsTemporal())) return undefined;
  const workers = await workersIn(session);
  const polled = [...(await allPollersOf(session, workers))];
  const unpolled = polled.filter(([, pollers]) => pollers.length === 0).map(([queue]) => queue);
  if (unpolled.length > 0)
    return {
      sentence: `no worker polls the task queue ${unpolled.join(', ')}: nothing happens${polled.length > 1 ? ' there' : ''}`,
      since: null,
    };
  const { lookAtWatch } = await import('../../doctor/temporal.ts');
  const failed = [await lookAtWatch(session)].flat().find(({ outcome }) => outcome === 'Failed');
  return failed === undefined ? null : { sentence: failed.message, since: null };
}

async function inCluster(session: Session): Promise<MissingWorkers | null> {
  const kube = await session.kube();
  const { items } = await kube
    .list<Deployment>(Deployments, { labelSelector: LABELS.name })
    .catch(() => ({ items: [] }));
  const workers = items.filter(({ spec }) => spec?.template?.metadata?.labels?.[LABELS.component] === 'worker');
  if (workers.length === 0 || workers.some(({ status }) => (status?.availableReplicas ?? 0) > 0)) return null;
  const [{ metadata, status }] = workers as [Deployment];
  const available = conditionOf(status, 'Available');
  return {
    sentence: `no worker is available: no pod of Deployment ${metadata.namespace}/${metadata.name} is ready`,
    since: available?.lastTransitionTime ?? null,
  };
}
