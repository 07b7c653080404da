import { controllerOf, type Stored } from '../../api/objects.ts';
import type { Claim, VmiSpec, Vmi } from '../objects/kubevirt.ts';
import { isDeleting } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';

const LABEL = 'persistent-state-for';

/** True for a VMI whose TPM or UEFI variables outlive it. */
export function keepsState({ domain }: VmiSpec): boolean {
  const { devices, firmware } = domain as {
    devices?: { tpm?: { persistent?: boolean; enabled?: boolean } };
    firmware?: { bootloader?: { efi?: { persistent?: boolean } } };
  };
  const hasTpm = devices?.tpm?.persistent === true && devices.tpm.enabled !== false;
  return hasTpm || firmware?.bootloader?.efi?.persistent === true;
}

/** True for the claim with the state of this VMI: by its label, whatever its owner, or by the name of older ones. */
export const isStateOf = ({ metadata: { namespace, name, labels } }: Stored, { metadata: vmi }: Vmi): boolean =>
  namespace === vmi.namespace && (labels?.[LABEL] === vmi.name || name === `${LABEL}-${vmi.name}`);

/** True for a claim with the state of any VMI. */
export const isStateClaim = ({ metadata: { name, labels } }: Stored): boolean =>
  labels?.[LABEL] !== undefined || name.startsWith(`${LABEL}-`);

/**
 * Makes the claim on which the state of a VMI is kept, for the VM that owns the VMI, if there is none; deletes that of
 * a VMI that keeps none. `known`: the keys of the claims with the state of any VMI.
 */
export async function settleStateClaim({ client, claims }: Cluster, vmi: Vmi, known: Iterable<string>): Promise<void> {
  const found = [...known]
    .flatMap((key) => claims.get(key) ?? [])
    .find((claim) => isStateOf(claim, vmi) && !isDeleting(claim));
  const { namespace, name, uid } = vmi.metadata;
  const owner = controllerOf(vmi);
  if (keepsState(vmi.spec) === (found !== undefined) || owner === undefined) return;
  if (found !== undefined) {
    await client.delete(claims.resource, found.metadata, { uid: found.metadata.uid });
    return;
  }
  const claim: Claim = {
    metadata: {
      name: `${LABEL}-${name}-${uid.replaceAll('-', '').slice(-5)}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [LABEL]: name },
      ownerReferences: [owner],
    },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
  };
  claims.remember(await client.create<Claim>(claims.resource, claim));
}
