import { RELEASE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { CustomResourceDefinitions, KubeVirts, VirtualMachinePools } from '../../api/resources.ts';
import type { KubeVirt } from '../../decisions/from-object/kubevirt.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { sentenceOf } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';
import { allPollersOf, type Poller, workersIn } from '../session/workers.ts';

/** What could not be learned, and why. */
export interface Unknown {
  unknown: string;
}

/** A version, null if the part is not there. */
export type Version = string | null | Unknown;

export interface Versions {
  client: string;
  /** Of drover's custom resources in the cluster: the release whose `drover setup` installed them. */
  definitions?: Version;
  /** The versions of the workers that serve the cluster, each once; a worker older than 0.1.0 names none. */
  workers?: string[] | Unknown;
  temporal?: Version;
  kubevirt?: Version;
  kubernetes?: Version;
}

const DEADLINE_MS = 5_000;

export const CLIENT: Versions = { client: packageJson.version };

/** Asks all servers at once. What one does not tell is unknown, with the reason: the others are shown all the same. */
export async function readVersions(session: Session): Promise<Required<Versions>> {
  const ofCluster = (read: (kube: KubeClient) => Promise<string | null>): Promise<Version> =>
    known(async () => read(await session.kube()));
  const [definitions, workers, temporal, kubevirt, kubernetes] = await Promise.all([
    ofCluster(definitionsIn),
    known(async () => {
      return versionsAmong([...(await allPollersOf(session, await workersIn(session))).values()].flat());
    }),
    known(() => temporalOf(session)),
    ofCluster(kubevirtIn),
    ofCluster(kubernetesOf),
  ]);
  return { ...CLIENT, definitions, workers, temporal, kubevirt, kubernetes };
}

/** Returns each version of drover that polls, once. */
export const versionsAmong = (pollers: readonly Poller[]): string[] =>
  [...new Set(pollers.map(({ version }) => version ?? 'unknown'))].toSorted();

/** Throws if Temporal does not answer. */
export async function temporalOf(session: Session): Promise<string> {
  const { connection } = await session.temporal();
  const info = connection.withDeadline(Date.now() + DEADLINE_MS, () => connection.workflowService.getSystemInfo({}));
  return (await session.untilAnswered(info)).serverVersion;
}

async function known<T>(read: () => Promise<T>): Promise<T | Unknown> {
  try {
    return await read();
  } catch (error) {
    return { unknown: sentenceOf(error) };
  }
}

const call = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(DEADLINE_MS) });

async function definitionsIn(kube: KubeClient): Promise<string | null> {
  const { plural, group } = VirtualMachinePools;
  const { items } = await kube.list(CustomResourceDefinitions, {
    fieldSelector: `metadata.name=${plural}.${group}`,
    metadataOnly: true,
    ...call(),
  });
  const [crd] = items;
  return crd === undefined ? null : (crd.metadata.annotations?.[RELEASE_ANNOTATION] ?? 'unreleased');
}

/** Null if KubeVirt is not installed. Throws if its operator has not reported a version. */
export async function kubevirtIn(kube: KubeClient): Promise<string | null> {
  const [kubevirt] = (await kube.list<KubeVirt>(KubeVirts, call())).items;
  if (kubevirt === undefined) return null;
  const version = kubevirt.status?.observedKubeVirtVersion;
  if (version === undefined) throw new Error('KubeVirt has not reported it');
  return version;
}

/** Throws if the API server does not answer. */
export async function kubernetesOf(kube: KubeClient): Promise<string> {
  const { gitVersion } = await kube.request<{ gitVersion: string }>({ method: 'GET', path: '/version', ...call() });
  return gitVersion;
}
