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

export const secretReferences = (volume: Json): Reference[] => [
  [volume['secret'], 'secretName'],
  [field(volume['sysprep'], 'secret'), 'name'],
  ...[volume['cloudInitNoCloud'], volume['cloudInitConfigDrive']].flatMap((source): Reference[] => [
    [field(source, 'secretRef'), 'name'],
    [field(source, 'networkDataSecretRef'), 'name'],
  ]),
];

export const configMapReferences = (volume: Json): Reference[] => [
  [volume['configMap'], 'name'],
  [field(volume['sysprep'], 'configMap'), 'name'],
];

/** Reports whether the reference exists and has a name. */
export const isNamed = ([holder, key]: Reference): boolean => isObject(holder) && typeof holder[key] === 'string';
