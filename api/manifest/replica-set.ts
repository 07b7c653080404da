import type * as z from 'zod';
import { API_VERSION } from '../labels-and-annotations.ts';
import { PoolSpec } from '../pool/pool.ts';
import { LIVE_UPDATE_FEATURES } from '../pool/vm-template.ts';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../replica-set/replica-set.ts';
import { VirtualMachineInstanceReplicaSets, VirtualMachineReplicaSets, type Resource } from '../resources.ts';
import { check } from './check.ts';
import { isObject, withoutKeptByServer, type Json } from './kept-by-server.ts';
import type { Applicable, ManifestKind, Reader, Reading, Written } from './reader.ts';
import { templateNotes } from './template-notes.ts';
import { withoutVmName } from './vm-name.ts';

/** In which versions of KubeVirt's group sets may be written: the proposals have the oldest ones. */
const KUBEVIRT_VERSIONS = ['v1alpha1', 'v1alpha2', 'v1alpha3', 'v1'];

/** A kind of replica set, and what differs from kind to kind when a manifest is read. */
interface SetKind<T extends Applicable> {
  resource: Resource;
  schema: z.ZodType<T>;
  /** What the set makes, such as `VMs`. */
  members: string;
  /** What a user of KubeVirt's group must know about the object that drover makes of it. */
  conversionNote: string;
  /** Returns a template of KubeVirt's group as drover's kind has it. */
  convert: (template: Json, notes: string[]) => Json;
  /** Notes about what is allowed in a template but probably unintended. */
  notesOn?: (set: T) => string[];
}

/** Reads sets of drover's group, and of KubeVirt's. */
function manifestsOf<T extends Applicable>(kind: SetKind<T>): ManifestKind {
  const readOwn = (object: Json, written: Written, notes: string[]): Reading => {
    const findings = check(kind.schema, object, { written, hint: (path) => hint(path, kind.members) });
    return findings.length > 0
      ? { findings }
      : { object: object as T, notes: [...notes, ...(kind.notesOn?.(object as T) ?? [])] };
  };
  const read: Reader = (document, written) => {
    const { object, notes } = withoutKeptByServer(document);
    return readOwn(object, written, notes);
  };
  const readKubeVirts: Reader = (document, written) => {
    const { object, notes } = withoutKeptByServer(document);
    notes.unshift(`${String(document['apiVersion'])} is read as ${API_VERSION}: ${kind.conversionNote}`);
    const because = `the set names its ${kind.members}`;
    const nameless = withoutVmName(object, { field: 'template', because }, notes);
    const set = converted(nameless, kind.convert, notes);
    return readOwn({ ...set, apiVersion: API_VERSION }, written, notes);
  };
  const kubeVirtReaders = KUBEVIRT_VERSIONS.map((version) => [`kubevirt.io/${version}`, readKubeVirts]);
  return { resource: kind.resource, readers: { [API_VERSION]: read, ...Object.fromEntries(kubeVirtReaders) } };
}

function converted(object: Json, convert: (template: Json, notes: string[]) => Json, notes: string[]): Json {
  const spec = object['spec'];
  if (!isObject(spec)) return object;
  const { replicas = 1, template } = spec;
  if (spec['replicas'] === undefined) notes.push("spec.replicas: 1, KubeVirt's default, is written out");
  return {
    ...object,
    spec: { ...spec, replicas, ...(isObject(template) ? { template: convert(template, notes) } : {}) },
  };
}

/** The VirtualMachine of the proposal had the spec that a VirtualMachineInstance has today. */
function vmTemplate(template: Json, notes: string[]): Json {
  const { spec } = template;
  if (!isObject(spec) || !('domain' in spec) || 'template' in spec) return template;
  notes.push(
    'spec.template.spec: it holds the spec of an instance: ' +
      'it is read as spec.template.spec.template.spec, and runStrategy: Always is written out',
  );
  return { ...template, spec: { runStrategy: 'Always', template: { spec } } };
}

export const ReplicaSetManifests = manifestsOf({
  resource: VirtualMachineReplicaSets,
  schema: VirtualMachineReplicaSet,
  members: 'VMs',
  conversionNote: "the set is drover's",
  convert: vmTemplate,
  notesOn: ({ spec }) => templateNotes(spec.template, spec.replicas, 'set'),
});

export const VmiSetManifests = manifestsOf({
  resource: VirtualMachineInstanceReplicaSets,
  schema: VirtualMachineInstanceReplicaSet,
  members: 'VMIs',
  conversionNote:
    "a drover set, in addition to any KubeVirt set of that name; KubeVirt's own controller acts on those of kubevirt.io, " +
    "and neither touches the other's instances",
  convert: (template) => template,
});

function hint(path: readonly PropertyKey[], members: string): string | undefined {
  const key = String(path.at(-1));
  if (key === 'liveUpdateFeatures') return LIVE_UPDATE_FEATURES;
  const holder = path.slice(0, -1).join('.');
  if (holder === 'metadata' && key === 'generateName')
    return 'a set is applied by its name: write metadata.name instead';
  if (holder === 'spec.template.metadata') {
    if (key === 'name' || key === 'generateName')
      return `the set names its ${members} <set>-<five letters and digits>: remove this`;
    if (key === 'namespace') return `${members} live in the namespace of their set: remove this`;
  }
  if (key === 'virtualMachineTemplate') return 'unknown field; a set calls it template';
  return holder === 'spec' && Object.hasOwn(PoolSpec.shape, key)
    ? 'unknown field: a set neither updates nor heals its members; a VirtualMachinePool has this'
    : undefined;
}
