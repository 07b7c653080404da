import { API_VERSION } from '../labels-and-annotations.ts';
import { VirtualMachinePool } from '../pool/pool.ts';
import { LIVE_UPDATE_FEATURES } from '../pool/vm-template.ts';
import { check } from './check.ts';
import { withoutKeptByServer } from './kept-by-server.ts';
import type { Reader } from './reader.ts';
import { healedDisksNote, templateNotes } from './template-notes.ts';

/** KubeVirt's names of fields that have another name in drover's pools. */
const KUBEVIRT_FIELD_NAMES: Record<string, string> = {
  virtualMachineTemplate: 'template',
  appendIndexToSecretRefs: 'appendPostfixToSecretReferences',
  appendIndexToConfigMapRefs: 'appendPostfixToConfigMapReferences',
  sortPolicy: 'basePolicy',
  selectors: 'orderedPolicies',
};

export const readDroverPool: Reader = (document, written) => {
  const { object, notes } = withoutKeptByServer(document);
  const findings = check(VirtualMachinePool, object, { written, hint });
  if (findings.length > 0) return { findings };
  const pool = object as VirtualMachinePool;
  const { spec } = pool;
  notes.push(...templateNotes(spec.template, spec.replicas, 'pool'));
  return { object: pool, notes };
};

/** Reads the pool of KubeVirt's design proposal, which has drover's fields and KubeVirt's group. */
export const readProposedPool: Reader = (document, written) => {
  const reading = readDroverPool({ ...document, apiVersion: API_VERSION }, written);
  if ('findings' in reading) return reading;
  const { autohealing } = (reading.object as VirtualMachinePool).spec;
  const isSilent = autohealing !== undefined && autohealing.preserveStorage === undefined;
  return {
    object: reading.object,
    notes: [
      `kubevirt.io/v1 is read as ${API_VERSION}: the pool is drover's`,
      ...(isSilent ? [healedDisksNote('the design proposal')] : []),
      ...reading.notes,
    ],
  };
};

function hint(path: readonly PropertyKey[]): string | undefined {
  const key = String(path.at(-1));
  if (key === 'liveUpdateFeatures') return LIVE_UPDATE_FEATURES;
  const holder = path.slice(0, -1).join('.');
  if (holder === 'metadata' && key === 'generateName')
    return 'a pool is applied by its name: write metadata.name instead';
  if (holder === 'spec.template.metadata') {
    if (key === 'name' || key === 'generateName') return 'the pool names its VMs <pool>-1, <pool>-2, …: remove this';
    if (key === 'namespace') return 'VMs live in the namespace of their pool: remove this';
  }
  const droverName = Object.hasOwn(KUBEVIRT_FIELD_NAMES, key) ? KUBEVIRT_FIELD_NAMES[key] : undefined;
  return droverName === undefined
    ? undefined
    : `unknown field; this is KubeVirt's name (pool.kubevirt.io) for ${droverName}`;
}
