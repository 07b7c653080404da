import type { Stored } from '../../kubernetes/objects.ts';
import { conditionOf, timestamp, withCondition, withoutCondition } from './conditions.ts';
import { amountOf } from './quantity.ts';
import type { VirtualMachineInstance } from './types.ts';

type Instance = Stored<VirtualMachineInstance>;

/** How long a guest takes to see sockets or memory that were plugged in. */
const PLUG_MS = 1000;

interface Growth {
  instance: Instance;
  wakeAt?: number;
}

/** A running guest on its way to the sockets and the memory that its spec has been changed to. */
export function growth(instance: Instance, now: number): Growth {
  const cpu = plugged(instance, 'HotVCPUChange', needsSockets(instance), now);
  const memory = plugged(cpu.instance, 'HotMemoryChange', needsMemory(instance), now);
  const grown = withTopology(memory.instance, !cpu.pending && needsSockets(instance), !memory.pending && needsMemory(instance));
  const pending = cpu.pending || memory.pending;
  return { instance: grown, ...(pending ? { wakeAt: Math.max(cpu.due, memory.due) } : {}) };
}

function plugged(
  instance: Instance,
  type: string,
  needed: boolean,
  now: number,
): { instance: Instance; pending: boolean; due: number } {
  const conditions = instance.status?.conditions ?? [];
  const begun = conditionOf(instance, type);
  const told = (list: typeof conditions): Instance => ({ ...instance, status: { ...instance.status, conditions: list } });
  if (!needed)
    return { instance: begun === undefined ? instance : told(withoutCondition(conditions, type)), pending: false, due: 0 };
  if (begun === undefined) {
    const condition = { type, status: 'True' as const, lastProbeTime: null, lastTransitionTime: timestamp(now) };
    return { instance: told(withCondition(conditions, condition)), pending: true, due: now + PLUG_MS };
  }
  const due = Date.parse(begun.lastTransitionTime ?? timestamp(now)) + PLUG_MS;
  return due > now
    ? { instance, pending: true, due }
    : { instance: told(withoutCondition(conditions, type)), pending: false, due };
}

function needsSockets({ spec, status }: Instance): boolean {
  const current = status?.currentCPUTopology?.sockets;
  return current !== undefined && spec.domain.cpu?.sockets !== undefined && spec.domain.cpu.sockets !== current;
}

function needsMemory({ spec, status }: Instance): boolean {
  const current = status?.memory?.guestCurrent;
  const wanted = spec.domain.memory?.guest;
  return current !== undefined && wanted !== undefined && amountOf(wanted) !== amountOf(current);
}

function withTopology(instance: Instance, sockets: boolean, memory: boolean): Instance {
  if (!sockets && !memory) return instance;
  const { spec, status } = instance;
  const wanted = spec.domain.memory?.guest;
  const { sockets: count } = spec.domain.cpu ?? {};
  return {
    ...instance,
    status: {
      ...status,
      ...(sockets && count !== undefined ? { currentCPUTopology: { ...status?.currentCPUTopology, sockets: count } } : {}),
      ...(memory && wanted !== undefined ? { memory: { ...status?.memory, guestCurrent: wanted, guestRequested: wanted } } : {}),
    },
  };
}
