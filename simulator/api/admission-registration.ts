import { X509Certificate } from 'node:crypto';
import {
  MutatingWebhookConfigurations,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
  type Resource,
} from '../../api/resources.ts';
import { machineRules } from '../../dev/crds/kubevirt-schemas.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { VM_DEFAULTS } from '../vm/machine-type.ts';
import { diskQuantityRules, quantityRules } from './quantities.ts';
import { ensure } from './register.ts';

export const FIELD_MANAGER = 'kubevirt-simulator';
export const VM_PATH = '/admission/virtualmachines';
export const VMI_PATH = '/admission/virtualmachineinstances';
export const MIGRATION_PATH = '/admission/virtualmachineinstancemigrations';
export const EVICTION_PATH = '/admission/evictions';
export const NODE_PATH = '/admission/nodes';

const NAME = 'virt-api.sim.drover.dev';

/** KubeVirt's service accounts don't exist here, so the simulator's writes are recognized by their field manager. */
const byOthers = {
  name: 'written-by-others',
  expression: `!has(request.options.fieldManager) || request.options.fieldManager != '${FIELD_MANAGER}'`,
};
const cordoned = {
  name: 'cordons',
  expression: 'object.spec.?unschedulable.orValue(false) && !oldObject.spec.?unschedulable.orValue(false)',
};
const active = { name: 'stays', expression: '!has(object.metadata.deletionTimestamp)' };
const vmi = 'object.spec.template.spec';
const machineType = `${vmi}.domain.machine`;

/**
 * Has the API server ask the simulator about VMs, VMIs and migrations that others write, evictions, and cordons. If no
 * answer comes, the write goes through. Throws if the certificate is for neither 127.0.0.1 nor localhost.
 */
export async function registerAdmission(client: KubeClient, port: number, certificate: Buffer): Promise<void> {
  const host = hostOf(certificate);
  if (host === undefined)
    throw new Error('the certificate is for neither 127.0.0.1 nor localhost: give one with --tls-cert that is');
  const clientConfig = (path: string): object => ({
    url: `https://${host}:${port}${path}`,
    caBundle: certificate.toString('base64'),
  });
  const hook = (name: string, operations: string[], path: string, ...conditions: object[]): object => ({
    name: `${name}.${NAME}`,
    clientConfig: clientConfig(path),
    rules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations, resources: [name], scope: 'Namespaced' }],
    matchConditions: [byOthers, ...conditions],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    timeoutSeconds: 5,
  });
  const untyped = {
    name: 'lacks-something',
    expression: `request.operation == 'CREATE' || !has(${vmi}.architecture) || !has(${machineType}) || !has(${machineType}.type) || ${machineType}.type == ''`,
  };
  const restated = {
    name: 'changes-status',
    expression: '(has(object.status) ? object.status : {}) != (has(oldObject.status) ? oldObject.status : {})',
  };
  const webhooks = [
    hook('virtualmachines', ['CREATE', 'UPDATE'], VM_PATH, active, untyped),
    hook('virtualmachineinstances', ['UPDATE'], VMI_PATH, restated),
    hook('virtualmachineinstancemigrations', ['CREATE'], MIGRATION_PATH),
    {
      ...hook('evictions', ['CREATE'], EVICTION_PATH),
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] }],
      sideEffects: 'NoneOnDryRun',
    },
    {
      ...hook('nodes', ['UPDATE'], NODE_PATH, cordoned),
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      sideEffects: 'NoneOnDryRun',
    },
  ];
  await ensure(client, MutatingWebhookConfigurations, { metadata: { name: NAME }, webhooks });
  for (const policy of checks) {
    const { name } = policy.metadata;
    await ensure(client, ValidatingAdmissionPolicies, policy);
    await ensure(client, ValidatingAdmissionPolicyBindings, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
  }
}

/** Removes these rules, so that they don't bind whatever acts as KubeVirt next. */
export async function unregisterAdmission(client: KubeClient): Promise<void> {
  const names = checks.map(({ metadata }) => metadata.name);
  const remove = (resource: Resource, name: string): Promise<unknown> =>
    ignoreNotFound(client.delete(resource, { name }, { deadlineMs: 2000 }));
  await Promise.all([
    ...names.flatMap((name) => [
      remove(ValidatingAdmissionPolicyBindings, name),
      remove(ValidatingAdmissionPolicies, name),
    ]),
    remove(MutatingWebhookConfigurations, NAME),
  ]);
}

interface Policy {
  /** Defaults to the resource; needed if another policy on the resource has that name. */
  name?: string;
  resource: string;
  operations: string[];
  validations: object[];
  conditions?: object[];
  variables?: object[];
}

const policyOn = ({
  resource,
  name = resource,
  operations,
  validations,
  conditions = [byOthers],
  variables = [],
}: Policy) => ({
  metadata: { name: `${name}.${NAME}` },
  spec: {
    failurePolicy: 'Ignore',
    variables,
    matchConstraints: {
      resourceRules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations, resources: [resource] }],
    },
    matchConditions: conditions,
    validations,
  },
});

/** The machine types that the cluster allows: globs, by architecture. */
const defaults = Object.entries(VM_DEFAULTS).map(
  ([name, { emulatedMachines }]) => `'${name}': ${list(emulatedMachines)}`,
);
const variables = [
  { name: 'type', expression: `${vmi}.domain.?machine.?type.orValue('')` },
  {
    name: 'allowed',
    expression: `{${defaults.join()}}[?${vmi}.?architecture.orValue('amd64')].orValue(${list(VM_DEFAULTS.amd64.emulatedMachines)})`,
  },
];
const emulated = {
  expression:
    "variables.type == '' || variables.allowed.exists(glob, " +
    "variables.type.matches('^' + glob.replace('*', '[^/]*') + '$'))",
  messageExpression:
    "'spec.template.spec.domain.machine.type is not supported: ' + variables.type + ' (allowed values: [' + variables.allowed.join(' ') + '])'",
};

/** KubeVirt refuses a disk that the VMI would not see. */
const seenByVmi = {
  expression:
    `object.spec.?dataVolumeTemplates.orValue([]).all(disk, ${vmi}.?volumes.orValue([]).exists(volume, ` +
    "volume.?dataVolume.?name.orValue('') == disk.metadata.name || volume.?persistentVolumeClaim.?claimName.orValue('') == disk.metadata.name))",
  message: "each entry of spec.dataVolumeTemplates must be referenced in the VMI template's 'volumes' list",
};

/** KubeVirt accepts a VM without memory, because an instance type may set it, but refuses such a VMI. */
const memoryRule = {
  expression:
    'object.spec.domain.?memory.?guest.hasValue() || object.spec.domain.?memory.?hugepages.hasValue() || ' +
    "object.spec.domain.?resources.?requests[?'memory'].hasValue()",
  message:
    "no memory requested, at least one of 'spec.domain.memory.guest', 'spec.domain.memory.hugepages.pageSize' or " +
    "'spec.domain.resources.requests.memory' must be set",
};

/** A VM can't be switched on or off while a snapshot or restore is in progress. */
const kept = [
  ['snapshotInProgress', 'Cannot update vm running state until snapshot'],
  ['restoreInProgress', 'Cannot update VM runStrategy until restore'],
].map(([field, message]) => ({
  expression:
    `request.operation != 'UPDATE' || !has(object.status) || !has(object.status.${field}) || ` +
    'object.spec.?runStrategy == oldObject.spec.?runStrategy && object.spec.?running == oldObject.spec.?running',
  messageExpression: `'${message} "' + object.status.${field} + '" completes'`,
}));

const checks = [
  policyOn({
    resource: 'virtualmachines',
    operations: ['CREATE', 'UPDATE'],
    conditions: [byOthers, active],
    validations: [
      ...machineRules.map(({ rule, message }) => ({ expression: rule.replaceAll('self', 'object.spec'), message })),
      emulated,
      seenByVmi,
      ...quantityRules(vmi),
      ...diskQuantityRules,
      ...kept,
    ],
    variables,
  }),
  policyOn({
    resource: 'virtualmachineinstances',
    operations: ['UPDATE'],
    validations: [
      {
        expression: 'object.spec == oldObject.spec',
        message: 'update of VMI object is restricted',
        reason: 'Forbidden',
      },
    ],
  }),
  // Also applies to the simulator's own writes: as in KubeVirt, the controller learns from the refusal.
  policyOn({
    name: 'new-virtualmachineinstances',
    resource: 'virtualmachineinstances',
    operations: ['CREATE'],
    validations: [memoryRule, ...quantityRules('object.spec')],
    conditions: [],
  }),
];

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join()}]`;
}

function hostOf(certificate: Buffer): string | undefined {
  const parsed = new X509Certificate(certificate);
  if (parsed.checkIP('127.0.0.1') !== undefined) return '127.0.0.1';
  return parsed.checkHost('localhost') === undefined ? undefined : 'localhost';
}
