import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../api/objects.ts';
import { PersistentVolumeClaims, VirtualMachineInstances } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { parseDuration, SimulatorAnnotation } from '../../../simulator/objects/annotations.ts';
import type { Claim, TimedCondition, Vmi } from '../../../simulator/objects/kubevirt.ts';
import type { PodPlayer } from './pods.ts';

const START_MS = 100;
const STOP_MS = 200;
const MIGRATION_MS = 400;
/** What an alias stands for, and what a VMI without a type gets. */
const NEWEST_TYPE = 'pc-q35-rhel9.6.0';

/** virt-controller compares what it has read with what is stored, and reads times to the second. */
const second = (): string => new Date().toISOString().replace(/\.\d+/, '');

/** Plays virt-handler: VMIs boot, migrate and shut down. */
export class VmiPlayer {
  readonly #client: KubeClient;
  readonly #pods: PodPlayer;
  readonly #vmis: ListWatch<Vmi, Vmi>;
  /** What has begun, by UID. */
  readonly #begun = new Set<string>();

  constructor(client: KubeClient, pods: PodPlayer) {
    this.#client = client;
    this.#pods = pods;
    this.#vmis = new ListWatch<Vmi, Vmi>({
      client,
      resource: VirtualMachineInstances,
      view: (vmi) => vmi,
      onChange: (_key, _before, vmi) => {
        if (vmi !== undefined)
          this.#play(vmi).catch((error: Error) => console.error(`VMI ${vmi.metadata.name}: ${error.message}`));
      },
    });
  }

  async start(): Promise<void> {
    await this.#vmis.start().ready();
  }

  async #play(vmi: Vmi): Promise<void> {
    const { metadata, status } = vmi;
    const isUp = status?.phase === 'Running' || status?.phase === 'Scheduled';
    if (metadata.deletionTimestamp !== undefined) {
      if (isUp && this.#begins(`${metadata.uid} ends`)) await this.#shutDown(vmi);
    } else if (status?.phase === 'Scheduled') {
      if (this.#begins(`${metadata.uid} boots`)) await this.#boot(vmi);
    } else if (status?.phase === 'Running' && status.migrationState?.completed !== true) await this.#migrate(vmi);
  }

  #begins(what: string): boolean {
    if (this.#begun.has(what)) return false;
    this.#begun.add(what);
    return true;
  }

  async #shutDown(vmi: Vmi): Promise<void> {
    await sleep(STOP_MS);
    await this.#patch(vmi, { status: { phase: 'Succeeded' } });
  }

  async #boot(vmi: Vmi): Promise<void> {
    await sleep(START_MS);
    const { status, spec, metadata } = vmi;
    const type = spec.domain.machine?.type;
    const passed = { phase: 'Running', phaseTransitionTimestamp: second() };
    const others = (status?.conditions ?? []).filter((condition) => condition.type !== 'LiveMigratable');
    await this.#patch(vmi, {
      status: {
        phase: 'Running',
        nodeName: status?.nodeName ?? metadata.labels?.['kubevirt.io/nodeName'],
        // Without this, virt-controller begins no migration.
        selinuxContext: 'none',
        machine: { type: type === undefined || type === 'q35' ? NEWEST_TYPE : type },
        conditions: [...others, await this.#migratable(vmi)],
        phaseTransitionTimestamps: [...(status?.phaseTransitionTimestamps ?? []), passed],
      },
    });
  }

  async #migratable({ metadata, spec }: Vmi): Promise<TimedCondition> {
    const times = { lastProbeTime: second(), lastTransitionTime: second() };
    const no = (reason: string, message: string): TimedCondition => ({
      type: 'LiveMigratable',
      status: 'False',
      reason,
      message,
      ...times,
    });
    if (metadata.annotations?.[SimulatorAnnotation.notMigratable] === 'true')
      return no('HostDeviceNotLiveMigratable', 'a device of its host cannot move');
    for (const { persistentVolumeClaim, dataVolume } of spec.volumes ?? []) {
      const name = persistentVolumeClaim?.claimName ?? dataVolume?.name;
      if (name === undefined) continue;
      const key = { namespace: metadata.namespace, name };
      const claim = await ignoreNotFound(this.#client.get<Claim>(PersistentVolumeClaims, key));
      if (claim?.spec.accessModes?.includes('ReadWriteMany') === false)
        return no('DisksNotLiveMigratable', `cannot migrate VMI: PVC ${name} is not shared`);
    }
    return { type: 'LiveMigratable', status: 'True', ...times };
  }

  /** The target says that it listens; then the source begins. */
  async #migrate(vmi: Vmi): Promise<void> {
    const { migrationUid, targetNode, targetNodeAddress } = vmi.status?.migrationState ?? {};
    if (migrationUid === undefined || targetNode === undefined) return;
    if (targetNodeAddress === undefined) {
      const listens = { targetNodeAddress: '10.9.9.9', targetDirectMigrationNodePorts: { 49152: 0 } };
      if (this.#begins(`${migrationUid} listens`)) await this.#patch(vmi, { status: { migrationState: listens } });
    } else if (this.#begins(`${migrationUid} moves`)) await this.#move(vmi, migrationUid, targetNode);
  }

  async #move(vmi: Vmi, migrationUid: string, node: string): Promise<void> {
    const key = `${vmi.metadata.namespace}/${vmi.metadata.name}`;
    await this.#patch(vmi, { status: { migrationState: { startTimestamp: second() } } });
    await sleep(parseDuration(vmi.metadata.annotations?.[SimulatorAnnotation.migrationTime] ?? '') ?? MIGRATION_MS);
    const now = this.#vmis.get(key);
    const state = now?.status?.migrationState;
    if (now === undefined || state?.migrationUid !== migrationUid || state.completed === true) return;
    const over = { endTimestamp: second(), completed: true };
    const fails = now.metadata.annotations?.[SimulatorAnnotation.migrationFails] === 'true';
    if (fails || state['abortRequested'] === true) {
      const failureReason = fails ? 'the guest could not be moved' : 'Live migration has been aborted';
      const aborted = fails ? {} : { abortStatus: 'Succeeded' };
      await this.#patch(now, { status: { migrationState: { ...over, failed: true, failureReason, ...aborted } } });
      return this.#pods.end(now.metadata.namespace!, String(state['targetPod']), 'Failed');
    }
    const arrived = { targetNodeDomainDetected: true, targetNodeDomainReadyTimestamp: second() };
    await this.#patch(now, {
      metadata: { labels: { 'kubevirt.io/nodeName': node, 'kubevirt.io/outdatedLauncherImage': null } },
      status: {
        nodeName: node,
        evacuationNodeName: null,
        launcherContainerImageVersion: null,
        // As virt-controller writes it: what is false is left out.
        migrationState: { ...over, ...arrived },
      },
    });
    await this.#pods.end(now.metadata.namespace!, String(state['sourcePod']), 'Succeeded');
  }

  async #patch({ metadata }: Vmi, patch: { metadata?: object; status: object }): Promise<void> {
    const { uid } = metadata;
    const whole = { ...patch, metadata: { ...patch.metadata, uid } };
    // Another VMI may have its name now.
    await ignoreStale(this.#client.patch<KubeObject>(VirtualMachineInstances, metadata, 'merge', whole));
  }
}
