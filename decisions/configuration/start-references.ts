import { field, isObject, type Json } from '../lib/json.ts';
import { asList, ownReferences, volumesOf, type OwnReference } from '../template/references.ts';
import type { PoolTemplate } from '../template/template.ts';

/** A Secret or ConfigMap that VMs of a template read; with `numbered`, each VM another, with the VM's number. */
interface StartReference extends OwnReference {
  numbered: boolean;
}

const known = new WeakMap<PoolTemplate, StartReference[]>();

/**
 * Returns what VMIs of the template read only as they start. Volumes that the VMI shares as file systems, and
 * credentials that the guest agent takes over, follow a change while it runs.
 */
export function startReferences(template: PoolTemplate): StartReference[] {
  const before = known.get(template);
  if (before !== undefined) return before;
  const references = ownReferences(readAtStart(template.spec)).map(({ kind, name, flag }) => {
    return { kind, name, numbered: template.nameGeneration?.[flag] === true };
  });
  known.set(template, references);
  return references;
}

/** Returns as much of the VM's spec as is read only when a VMI starts. */
function readAtStart(vmSpec: unknown): Json {
  const vmi = field(vmSpec, 'template', 'spec');
  const shared = new Set(asList(field(vmi, 'domain', 'devices', 'filesystems')).map(({ name }) => name));
  const volumes = volumesOf(vmSpec).filter(({ name }) => !shared.has(name));
  const accessCredentials = asList(field(vmi, 'accessCredentials')).filter(
    (credential) =>
      !isObject(field(credential['sshPublicKey'] ?? credential['userPassword'], 'propagationMethod', 'qemuGuestAgent')),
  );
  return { template: { spec: { volumes, accessCredentials } } };
}

/** The name of what the VM of this number reads; null if it has no number and would need one. */
export function nameFor({ name, numbered }: StartReference, number: number | null): string | null {
  if (!numbered) return name;
  return number === null ? null : `${name}-${number}`;
}

/** Reports whether VMs of the template read this, one of them at least. */
export const isNamedBy = (template: PoolTemplate, { kind, name }: OwnReference): boolean =>
  startReferences(template).some(
    (reference) =>
      reference.kind === kind &&
      (reference.numbered ? NUMBERED.exec(name)?.[1] === reference.name : name === reference.name),
  );

const NUMBERED = /^(.*)-\d+$/;
