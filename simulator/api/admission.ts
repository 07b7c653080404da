import type { Stored } from '../../api/objects.ts';
import type { KubeVirt, Migration, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { VM_CONTROLLER_FINALIZER } from '../objects/vmi.ts';
import { defaultArchitecture, defaultMachineType } from '../vm/machine-type.ts';
import { uuidFrom, withDefaults } from '../vmi/from-template.ts';
import { admitted, whyRefused } from '../vmi/new-migration.ts';

/** The parts of an AdmissionReview that are used here. */
export interface Review {
  request: {
    uid: string;
    operation: string;
    namespace?: string;
    name?: string;
    dryRun?: boolean;
    object: unknown;
    oldObject?: unknown;
  };
}

/** The layout of a VMI's PCI slots. KubeVirt records it in a new VM's template, so that it stays the same. */
const PCI_TOPOLOGY = 'kubevirt.io/pci-topology-version';

type JsonPatch = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown }[];

/**
 * Returns what KubeVirt's admission sets on a VM that others write: an architecture and a machine type if missing, and
 * on creation a firmware UUID, a serial number and a template annotation. The VM controller's finalizer comes with
 * them, which saves the write that would add it.
 */
export function admitVm({ request }: Review, kubevirt: KubeVirt | undefined): JsonPatch {
  const vm = request.object as VirtualMachine;
  const { spec, metadata } = vm.spec.template;
  const architecture = spec.architecture || defaultArchitecture(kubevirt);
  const machineType = defaultMachineType(kubevirt, architecture);
  const { domain } = withDefaults(spec, machineType, spec.domain.firmware?.uuid ?? uuidFrom(request.uid));
  const patch: JsonPatch = [
    { op: 'add', path: '/spec/template/spec/architecture', value: architecture },
    { op: 'add', path: '/spec/template/spec/domain/machine', value: domain.machine },
  ];
  if (request.operation !== 'CREATE') return patch;
  const firmware = { serial: uuidFrom(`${request.uid} serial`), ...domain.firmware };
  const annotations = { [PCI_TOPOLOGY]: 'v3', ...metadata?.annotations };
  const { finalizers = [] } = vm.metadata;
  patch.push({ op: 'add', path: '/spec/template/metadata', value: { ...metadata, annotations } });
  patch.push({ op: 'add', path: '/spec/template/spec/domain/firmware', value: firmware });
  patch.push({
    op: 'add',
    path: '/metadata/finalizers',
    value: [...new Set([...finalizers, VM_CONTROLLER_FINALIZER])],
  });
  return patch;
}

/** Silently drops changes to a VMI's status by anyone but KubeVirt. */
export function admitVmi({ request }: Review): JsonPatch {
  const { status } = request.oldObject as VirtualMachineInstance;
  return status === undefined ? [{ op: 'remove', path: '/status' }] : [{ op: 'add', path: '/status', value: status }];
}

/** A write that KubeVirt's admission refuses, in these words. */
export class Denied extends Error {
  readonly code: number;

  constructor(message: string, code = 400) {
    super(message);
    this.code = code;
  }
}

/**
 * Gives a migration its label and its finalizer. Throws `Denied` if its VMI cannot be migrated, or if another one of it
 * (`other`) has not ended.
 */
export function admitMigration(
  { request }: Review,
  vmi: VirtualMachineInstance | undefined,
  other: Stored<Migration> | undefined,
): JsonPatch {
  const message = whyRefused(request.object as Migration, vmi, other);
  if (message !== undefined) throw new Denied(message);
  const { metadata } = admitted(request.object as Migration);
  return [{ op: 'add', path: '/metadata', value: metadata }];
}

/** Returns the AdmissionReview that refuses the request. */
export const denied = ({ request }: Review, { message, code }: Denied): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: request.uid, allowed: false, status: { message, code } },
});

/** Returns the AdmissionReview that answers the request. */
export const answered = ({ request }: Review, patch: JsonPatch): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: {
    uid: request.uid,
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
  },
});
