import { droverCrds } from '../../api/crd/crds.ts';
import { isEstablished, refusedNames, type CustomResourceDefinition } from '../../api/crd/definition.ts';
import { RELEASE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CustomResourceDefinitions, VirtualMachineOperations } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound, isRefusal, KubeError } from '../../kubernetes/errors.ts';
import { ADMISSION_POLICIES } from '../setup/policies.ts';
import { CLIENT } from '../version/versions.ts';
import { call, failed, ok, unknown, warning, type Found, type Looked } from './finding.ts';

const SETUP = 'run `drover setup` as a user who may';

/** Looks whether the API server serves drover's custom resources, of the release of this command. */
export async function lookAtDefinitions(kube: KubeClient): Promise<Looked> {
  const { items } = await kube.list<CustomResourceDefinition>(CustomResourceDefinitions, call());
  const installed = new Map(items.map((crd) => [crd.metadata.name, crd]));
  const definitions = droverCrds().map(({ metadata: { name } }) => ({ name, crd: installed.get(name) }));
  const found = definitions.flatMap(({ name, crd }) => (crd === undefined ? [missing(name)] : notServed(crd)));
  const releases = new Set(
    definitions.flatMap(({ crd }) =>
      crd === undefined ? [] : [crd.metadata.annotations?.[RELEASE_ANNOTATION] ?? 'none'],
    ),
  );
  const others = [...releases].filter((release) => release !== CLIENT.client);
  if (others.length > 0)
    found.push(
      warning(
        `the definitions come from drover ${others.join(', ')}, and this command is drover ${CLIENT.client}`,
        'use the same release: `drover setup` of the newer one updates the definitions',
      ),
    );
  if (found.length > 0) return found;
  return ok(`the API server serves the ${definitions.length} kinds of drover ${CLIENT.client}`);
}

const missing = (name: string): Found => failed(`${name} is not installed`, SETUP);

function notServed(crd: CustomResourceDefinition): Looked {
  if (isEstablished(crd)) return [];
  const { name } = crd.metadata;
  const refused = refusedNames(crd);
  return failed(
    `the API server does not serve ${name}${refused === undefined ? '' : `: ${refused.message}`}`,
    refused === undefined ? SETUP : 'another definition has its names: remove that one',
  );
}

/** Looks whether the policies are there and in force, and whether the API server acts by them. */
export async function lookAtPolicies(kube: KubeClient, namespace: string): Promise<Looked> {
  const found: Found[] = [];
  for (const { resource, object, without } of ADMISSION_POLICIES) {
    const { name } = object.metadata;
    const there = await ignoreNotFound(kube.get(resource, { name }, call()));
    if (there === undefined) found.push(failed(`${resource.kind} ${name} is missing: ${without}`, SETUP));
    else if (isWeakened(there)) found.push(failed(`${resource.kind} ${name} denies nothing: ${without}`, SETUP));
  }
  return found.length > 0 ? found : [await tried(kube, namespace)];
}

/** Whether a user has changed a binding so that it only warns. */
const isWeakened = ({ spec }: KubeObject): boolean => {
  const { validationActions } = (spec ?? {}) as { validationActions?: string[] };
  return validationActions !== undefined && !validationActions.includes('Deny');
};

const FORGED = 'drover-doctor:nobody';

/** Asks, as a dry run, for an operation in another user's name, which the policy refuses. */
async function tried(kube: KubeClient, namespace: string): Promise<Found> {
  const operation = {
    metadata: { generateName: 'drover-doctor-', namespace },
    spec: { action: 'Start', vms: { names: ['drover-doctor'] }, requestedBy: FORGED },
  };
  try {
    await kube.create(VirtualMachineOperations, operation, { dryRun: true, ...call() });
  } catch (error) {
    if (isNotFound(error)) return unknown(`namespace ${namespace} does not exist: give another with -n`);
    if (!(error instanceof KubeError) || !isRefusal(error)) throw error;
    if (error.message.includes('requestedBy must be') || error.message.includes('may not start'))
      return ok('the API server refuses operations of users who may not do what they ask for');
    return unknown(
      `whether the admission policies are enforced is not known, as you may not test it: ${error.message}`,
    );
  }
  return failed(
    'the API server accepts an operation in the name of another user: the admission policies exist, and are not enforced',
    'enable the admission plugin ValidatingAdmissionPolicy, and run `drover setup`',
  );
}
