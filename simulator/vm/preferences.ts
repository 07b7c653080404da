import type { KubeObject, Stored } from '../../api/objects.ts';
import {
  apiVersionOf,
  ControllerRevisions,
  VirtualMachineClusterPreferences,
  VirtualMachinePreferences,
  type Resource,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreAlreadyExists } from '../../kubernetes/errors.ts';
import type { Preference, PreferenceMatcher, PreferenceRef, VirtualMachine } from '../objects/kubevirt.ts';
import { vmOwner } from '../objects/vm-owner.ts';

const LABEL = 'instancetype.kubevirt.io/object-';
const NAME_LABEL = `${LABEL}name`;

interface Revision extends KubeObject {
  revision: number;
  data?: Preference;
}

/** Returns the kind of the preference that a VM names. Throws if KubeVirt doesn't know the kind. */
function kindOf({ kind = '' }: PreferenceMatcher): Resource {
  const plural = kind.toLowerCase().replace(/s?$/, 's');
  if (plural === VirtualMachinePreferences.plural) return VirtualMachinePreferences;
  if (kind === '' || plural === VirtualMachineClusterPreferences.plural) return VirtualMachineClusterPreferences;
  throw new Error(`got unexpected kind in PreferenceMatcher: ${kind}`);
}

/**
 * Returns a VM's preference; undefined if it names none. The copy kept when the VM was first seen with the preference
 * takes precedence over its current content. Throws if the preference can't be read.
 */
export async function preferenceOf(
  client: KubeClient,
  { metadata: { namespace }, spec: { preference }, status }: VirtualMachine,
): Promise<Preference | undefined> {
  if (preference === undefined) return undefined;
  const kept = preference.revisionName || status?.preferenceRef?.controllerRevisionRef?.name;
  if (kept) {
    const revision = await client.get<Revision>(ControllerRevisions, { namespace, name: kept });
    if (preference.revisionName || revision.metadata.labels?.[NAME_LABEL] === preference.name) return revision.data;
  }
  const resource = kindOf(preference);
  return client.get<Preference>(resource, {
    ...(resource.namespaced ? { namespace } : {}),
    name: preference.name ?? '',
  });
}

/**
 * Returns the `preferenceRef` that the VM's status should have; undefined if it is up to date or the VM has no
 * preference. Keeps a copy of a new preference.
 */
export async function keepPreference(
  client: KubeClient,
  vm: Stored<VirtualMachine>,
): Promise<PreferenceRef | undefined> {
  const { preference } = vm.spec;
  if (preference === undefined) return undefined;
  const { name = '', kind, revisionName } = preference;
  const before = vm.status?.preferenceRef;
  const same = before?.name === name && (kind === undefined || before.kind === kind);
  const known = same ? before.controllerRevisionRef?.name : undefined;
  if (known !== undefined && (!revisionName || revisionName === known)) return undefined;
  const { status: _status, ...bare } = vm;
  const revision = revisionName || (await keep(client, vm, (await preferenceOf(client, bare))!));
  return { ...before, name, ...(kind === undefined ? {} : { kind }), controllerRevisionRef: { name: revision } };
}

async function keep(
  client: KubeClient,
  { metadata: vm, spec }: Stored<VirtualMachine>,
  preference: Preference,
): Promise<string> {
  const resource = kindOf(spec.preference!);
  const { name, uid = '', generation = 1 } = preference.metadata;
  const revision: Revision = {
    metadata: {
      name: `${vm.name}-${name}-${resource.version}-${uid}-${generation}`,
      ...(vm.namespace === undefined ? {} : { namespace: vm.namespace }),
      labels: {
        [`${LABEL}generation`]: String(generation),
        [`${LABEL}kind`]: resource.kind,
        [NAME_LABEL]: name,
        [`${LABEL}uid`]: uid,
        [`${LABEL}version`]: resource.version,
      },
      ownerReferences: [vmOwner(vm)],
    },
    revision: 0,
    data: {
      ...preference,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name, uid, generation },
    },
  };
  await ignoreAlreadyExists(client.create(ControllerRevisions, revision));
  return revision.metadata.name;
}
