import { X509Certificate } from 'node:crypto';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { KubeObject } from '../../kubernetes/objects.ts';
import type { Resource } from '../../kubernetes/resources.ts';
import { machineRules } from '../kubevirt-schemas.ts';
import { ensure } from './register.ts';

export const FIELD_MANAGER = 'kubevirt-simulator';
export const MACHINE_PATH = '/admission/virtualmachines';
export const INSTANCE_PATH = '/admission/virtualmachineinstances';

const NAME = 'virt-api.sim.drover.dev';
const kind = (plural: string, name: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural,
  kind: name,
  namespaced: false,
});
const webhookConfigurations = kind('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration');
const policies = kind('validatingadmissionpolicies', 'ValidatingAdmissionPolicy');
const bindings = kind('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding');

/** KubeVirt's service accounts are not here to be told by their names; the simulator's writes are told by their field manager. */
const byOthers = {
  name: 'written-by-others',
  expression: `!has(request.options.fieldManager) || request.options.fieldManager != '${FIELD_MANAGER}'`,
};
const machineType = 'object.spec.template.spec.domain.machine';

/** Has the API server ask the simulator about VMs and VMIs that others write; where no answer comes, it goes on without. */
export async function registerAdmission(client: KubeClient, port: number, certificate: Buffer): Promise<void> {
  const host = hostOf(certificate);
  if (host === undefined)
    throw new Error('the certificate is for neither 127.0.0.1 nor localhost: give one with --tls-cert that is');
  const clientConfig = (path: string): object => ({
    url: `https://${host}:${port}${path}`,
    caBundle: certificate.toString('base64'),
  });
  const hook = (name: string, operations: string[], path: string, condition: object): object => ({
    name: `${name}.${NAME}`,
    clientConfig: clientConfig(path),
    rules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations, resources: [name], scope: 'Namespaced' }],
    matchConditions: [byOthers, condition],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    timeoutSeconds: 5,
  });
  const untyped = {
    name: 'lacks-something',
    expression: `request.operation == 'CREATE' || !has(${machineType}) || !has(${machineType}.type) || ${machineType}.type == ''`,
  };
  const restated = {
    name: 'changes-status',
    expression: '(has(object.status) ? object.status : {}) != (has(oldObject.status) ? oldObject.status : {})',
  };
  const webhooks = [
    hook('virtualmachines', ['CREATE', 'UPDATE'], MACHINE_PATH, untyped),
    hook('virtualmachineinstances', ['UPDATE'], INSTANCE_PATH, restated),
  ];
  await ensure(client, webhookConfigurations, { metadata: { name: NAME }, webhooks });
  for (const policy of checks) {
    const { name } = policy.metadata;
    await ensure(client, policies, policy);
    await ensure(client, bindings, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } });
  }
}

/** What else may play KubeVirt's part next is not held to these rules. */
export async function unregisterAdmission(client: KubeClient): Promise<void> {
  const names = checks.map(({ metadata }) => metadata.name);
  await Promise.all([
    ...names.flatMap((name) => [remove(client, bindings, name), remove(client, policies, name)]),
    remove(client, webhookConfigurations, NAME),
  ]);
}

async function remove(client: KubeClient, resource: Resource, name: string): Promise<void> {
  try {
    await client.delete(resource, { name }, { deadlineMs: 2000 });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

const policyOn = (resource: string, operations: string[], validations: object[]): KubeObject => ({
  metadata: { name: `${resource}.${NAME}` },
  spec: {
    failurePolicy: 'Ignore',
    matchConstraints: { resourceRules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations, resources: [resource] }] },
    matchConditions: [byOthers],
    validations,
  },
});

const checks = [
  policyOn(
    'virtualmachines',
    ['CREATE', 'UPDATE'],
    machineRules.map(({ rule, message }) => ({ expression: rule.replaceAll('self', 'object.spec'), message })),
  ),
  policyOn(
    'virtualmachineinstances',
    ['UPDATE'],
    [{ expression: 'object.spec == oldObject.spec', message: 'update of VMI object is restricted', reason: 'Forbidden' }],
  ),
];

function hostOf(certificate: Buffer): string | undefined {
  const parsed = new X509Certificate(certificate);
  if (parsed.checkIP('127.0.0.1') !== undefined) return '127.0.0.1';
  return parsed.checkHost('localhost') === undefined ? undefined : 'localhost';
}
