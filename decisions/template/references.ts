import type { NameGeneration, VmTemplate } from '../../api/pool/pool.ts';
import { ConfigMaps, Secrets } from '../../api/resources.ts';
import { field, isObject, type Json } from '../lib/json.ts';

/** A place in a VM's spec that refers to something by name: `holder[key]`. */
export type Reference = readonly [holder: unknown, key: string];

export const asList = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The volumes of the VMI template in a VirtualMachine's spec. */
export const volumesOf = (vmSpec: unknown): Json[] => asList(field(vmSpec, 'template', 'spec', 'volumes'));

export const diskReferences = (volume: Json): Reference[] => [
  [volume['dataVolume'], 'name'],
  [volume['persistentVolumeClaim'], 'claimName'],
  [field(volume['ephemeral'], 'persistentVolumeClaim'), 'claimName'],
];

const secretsOfVolume = (volume: Json): Reference[] => [
  [volume['secret'], 'secretName'],
  [field(volume['sysprep'], 'secret'), 'name'],
  ...[volume['cloudInitNoCloud'], volume['cloudInitConfigDrive']].flatMap((source): Reference[] => [
    [field(source, 'secretRef'), 'name'],
    [field(source, 'networkDataSecretRef'), 'name'],
  ]),
];

const secretsOfCredential = (credential: Json): Reference[] => [
  [field(credential['sshPublicKey'], 'source', 'secret'), 'secretName'],
  [field(credential['userPassword'], 'source', 'secret'), 'secretName'],
];

/** Where the spec of a VM names Secrets: in volumes and in access credentials. */
const secretReferences = (vmSpec: unknown): Reference[] => [
  ...volumesOf(vmSpec).flatMap(secretsOfVolume),
  ...asList(field(vmSpec, 'template', 'spec', 'accessCredentials')).flatMap(secretsOfCredential),
];

const configMapReferences = (vmSpec: unknown): Reference[] =>
  volumesOf(vmSpec).flatMap((volume): Reference[] => [
    [volume['configMap'], 'name'],
    [field(volume['sysprep'], 'configMap'), 'name'],
  ]);

/** The references in a VM's spec that get the number of the VM, by the field that asks for it. */
export const numberedReferences: Record<keyof NameGeneration, (vmSpec: unknown) => Reference[]> = {
  appendPostfixToSecretReferences: secretReferences,
  appendPostfixToConfigMapReferences: configMapReferences,
};

export const NAME_GENERATION_FLAGS = Object.keys(numberedReferences) as (keyof NameGeneration)[];

/** Reports whether the reference exists and has a name. */
export const isNamed = ([holder, key]: Reference): boolean => isObject(holder) && typeof holder[key] === 'string';

export interface OwnReference {
  kind: 'Secret' | 'ConfigMap';
  name: string;
}

/** The resources of the kinds that a VM has for itself. */
export const REFERENCE_RESOURCES = { Secret: Secrets, ConfigMap: ConfigMaps };

/** What the references are to that a field of `nameGeneration` numbers. */
const REFERENCE_KINDS: Record<keyof NameGeneration, OwnReference['kind']> = {
  appendPostfixToSecretReferences: 'Secret',
  appendPostfixToConfigMapReferences: 'ConfigMap',
};

/** Returns what a VMI of a VM with this spec, in which names have their number, can't start without. */
export const requiredReferences = (vmSpec: unknown): OwnReference[] =>
  ownReferences(vmSpec, (reference) => !isOptional(reference)).map(({ kind, name }) => ({ kind, name }));

/** Returns the Secrets and ConfigMaps that a VM's spec names, each once, and by which flags they are numbered. */
export function ownReferences(
  vmSpec: unknown,
  isMeant: (reference: Reference) => boolean = () => true,
): (OwnReference & { flag: keyof NameGeneration })[] {
  const all = NAME_GENERATION_FLAGS.flatMap((flag) =>
    numberedReferences[flag](vmSpec)
      .filter((reference) => isNamed(reference) && isMeant(reference))
      .map(([holder, key]) => ({ flag, kind: REFERENCE_KINDS[flag], name: (holder as Record<string, string>)[key]! })),
  );
  return all.filter(({ kind, name }, at) => all.findIndex((one) => one.kind === kind && one.name === name) === at);
}

const isOptional = ([holder]: Reference): boolean => isObject(holder) && holder['optional'] === true;

/** Reports whether VMs of this template refer to an instance type or a preference. */
export const refers = ({ spec }: VmTemplate): boolean =>
  spec['instancetype'] !== undefined || spec['preference'] !== undefined;
