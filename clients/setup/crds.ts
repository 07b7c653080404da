import { droverCrds } from '../../api/crd/crds.ts';
import { isEstablished, refusedNames, resourceOf, type CustomResourceDefinition } from '../../api/crd/definition.ts';
import { RELEASE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CustomResourceDefinitions, VirtualMachinePools, type Resource } from '../../api/resources.ts';
import { byNumber } from '../../decisions/lib/names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import { labelOf } from '../cli/print.ts';
import { lookUntil } from '../cli/watch-until.ts';
import { outcomeOf } from '../fields/server-side-apply.ts';
import { ADMISSION_POLICIES } from './policies.ts';

const ESTABLISHED_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

interface Applying {
  dryRun: boolean;
  say: (line: string) => void;
}

/** Installs or updates drover's custom resources, and waits until the API server serves them. */
export async function applyCrds(kube: KubeClient, how: Applying): Promise<void> {
  for (const crd of droverCrds()) {
    await apply(kube, CustomResourceDefinitions, crd, { ...how, what: 'custom resources' });
    if (!how.dryRun) await served(kube, crd);
  }
}

async function apply(
  kube: KubeClient,
  resource: Resource,
  object: KubeObject,
  { dryRun, say, what }: Applying & { what: string },
): Promise<void> {
  const { name } = object.metadata;
  try {
    const before = await ignoreNotFound(kube.get(resource, { name }));
    refuseOlder(before, object);
    const after = await kube.patch(resource, { name }, 'apply', object, { force: true, dryRun });
    say(`${labelOf(resource, name)} ${outcomeOf(before, after)}`);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 403) throw error;
    throw new Failure(
      `not allowed to install drover's ${what} (${error.message}): run \`drover setup\` once as a user who may`,
      { cause: error },
    );
  }
}

/**
 * Reports which of drover's namespaced kinds the cluster serves, for a namespace whose owner may not install any.
 * Throws `Failure` without pools; other kinds may be missing, and what they are for is then off.
 */
export async function checkCrds(kube: KubeClient, namespace: string, say: (line: string) => void): Promise<void> {
  for (const crd of droverCrds().filter(({ spec }) => spec.scope === 'Namespaced')) {
    const { name } = crd.metadata;
    const isServed = await answers(kube, resourceOf(crd)!, namespace);
    if (!isServed && crd.spec.names.plural === VirtualMachinePools.plural)
      throw new Failure(
        `the cluster does not know ${name}: a user who may must run \`drover setup\` for the cluster once, which installs drover's custom resources and admission policies`,
      );
    say(`${labelOf(CustomResourceDefinitions, name)} ${isServed ? 'is served' : 'is missing'}`);
  }
}

/**
 * Has the API server refuse to delete drover's custom resources, and all pools with them, and operations of users who
 * may not do themselves what they ask for. One that is older than 1.30 knows no such policies.
 */
export async function applyPolicies(kube: KubeClient, how: Applying): Promise<void> {
  for (const { resource, object, without } of ADMISSION_POLICIES)
    try {
      await apply(kube, resource, object, { ...how, what: 'admission policies' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const what = labelOf(resource, object.metadata.name);
      return how.say(`${what} left out: Kubernetes has such policies since 1.30, and before that, ${without}`);
    }
}

/** An older release would remove the fields that it does not know from every pool at its next write. */
function refuseOlder(before: KubeObject | undefined, { metadata: { name, annotations } }: KubeObject): void {
  const there = before?.metadata.annotations?.[RELEASE_ANNOTATION];
  const own = annotations?.[RELEASE_ANNOTATION];
  if (there === undefined || own === undefined || !isNewer(there, own)) return;
  throw new Failure(
    `${name} comes from drover ${there}, and this is drover ${own}, which would remove from it what it does not know: run \`drover setup\` of ${there} or newer; ` +
      `to go back all the same, first remove the annotation ${RELEASE_ANNOTATION} from it`,
  );
}

/** Reports whether release `a` is later than `b`, such as `0.10.0` than `0.9.1`. */
const isNewer = (a: string, b: string): boolean => byNumber(release(a), release(b)) > 0;

const release = (text: string): string => text.split(/[+-]/, 1)[0]!;

async function served(kube: KubeClient, crd: CustomResourceDefinition): Promise<void> {
  const { name } = crd.metadata;
  const resource = resourceOf(crd)!;
  const look = async (): Promise<true | undefined> => {
    const found = await kube.get<CustomResourceDefinition>(CustomResourceDefinitions, { name });
    if (isEstablished(found) && (await answers(kube, resource))) return true;
    const refused = refusedNames(found);
    if (refused !== undefined)
      throw new Failure(`the API server does not accept ${name}: ${refused.message ?? refused.reason}`);
    return undefined;
  };
  if ((await lookUntil(look, { withinMs: ESTABLISHED_TIMEOUT_MS, everyMs: POLL_MS })) === undefined)
    throw new Failure(`the API server has not begun to serve ${name} within 30 seconds; try \`drover setup\` again`);
}

/** Reports whether a new resource is served: its paths answer 404, then 429, for a moment after it is Established. */
async function answers(kube: KubeClient, resource: Resource, namespace?: string): Promise<boolean> {
  try {
    await kube.list(resource, { fieldSelector: 'metadata.name=drover-setup', namespace });
    return true;
  } catch (error) {
    if (isNotFound(error) || isTransient(error)) return false;
    throw error;
  }
}
