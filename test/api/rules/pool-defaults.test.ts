import { describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { healingRules, scaleInRules, updateRules, withDefaults } from '../../../api/rules/pool-defaults.ts';

const bare: PoolSpec = { replicas: 3, template: { spec: { running: true, template: {} } } };

describe('withDefaults', () => {
  it("fills in the proposal's defaults", () => {
    expect(withDefaults(bare)).toMatchObject({
      replicas: 3,
      maxUnavailable: '25%',
      maxSurge: 0,
      nameGeneration: { appendPostfixToSecretReferences: false, appendPostfixToConfigMapReferences: false },
      update: {
        kind: 'proactive',
        selectionPolicy: { orderedPolicies: [], basePolicy: 'Random' },
        disruption: 'Restart',
      },
      scaleIn: {
        kind: 'proactive',
        selectionPolicy: { orderedPolicies: [], basePolicy: 'Random' },
        statePreservation: 'Disabled',
      },
      rollout: {
        steps: [],
        minReadySeconds: 0,
        progressDeadlineSeconds: 600,
        onFailure: 'Pause',
        maxFailures: 0,
        windows: [],
      },
      autohealing: null,
      revisionHistoryLimit: 10,
      paused: false,
      vmRolloutStrategy: null,
      selector: null,
    });
  });

  it('keeps what the pool says', () => {
    const said = { maxUnavailable: 2, paused: true, revisionHistoryLimit: 0, vmRolloutStrategy: 'Stage' } as const;
    const spec = withDefaults({ ...bare, ...said, rollout: { maxFailures: 1 } });
    expect(spec).toMatchObject(said);
    expect(spec.rollout).toMatchObject({ maxFailures: 1, onFailure: 'Pause' });
  });
});

describe('strategies', () => {
  it('has one of three values', () => {
    expect(updateRules({ unmanaged: {} })).toEqual({ kind: 'unmanaged' });
    expect(updateRules({ opportunistic: {} })).toEqual({ kind: 'opportunistic' });
    expect(updateRules({ proactive: { disruption: 'Live' } })).toMatchObject({ kind: 'proactive', disruption: 'Live' });
    expect(scaleInRules({ unmanaged: {} })).toEqual({ kind: 'unmanaged' });
    expect(scaleInRules({ opportunistic: {} })).toEqual({ kind: 'opportunistic', statePreservation: 'Disabled' });
    expect(scaleInRules({ opportunistic: { statePreservation: 'Offline' } })).toMatchObject({
      statePreservation: 'Offline',
    });
    expect(scaleInRules({ proactive: { selectionPolicy: { basePolicy: 'Newest' } } })).toMatchObject({
      selectionPolicy: { orderedPolicies: [], basePolicy: 'Newest' },
    });
  });
});

describe('healingRules', () => {
  it('fills in each part separately', () => {
    expect(healingRules({ backoff: { max: '1h' }, unhealthyAfter: { notReady: '10m' } })).toEqual({
      startupFailureThreshold: 3,
      minFailingToStartDuration: null,
      unhealthyAfter: { notReady: '10m', unknownNode: 'never' },
      backoff: { initial: '10s', factor: 2, max: '1h', jitter: 0.1 },
      maxAttempts: null,
      maxConcurrent: null,
      maxUnhealthy: '40%',
      preserveStorage: null,
    });
  });

  it('skips durations that cannot be read, from pools that were stored before the API server refused them', () => {
    const rules = healingRules({
      minFailingToStartDuration: '1d',
      unhealthyAfter: { notReady: 'soon', unknownNode: '5m' },
      backoff: { initial: '1d', max: 'a while', factor: 3 },
    });
    expect(rules).toEqual({
      ...healingRules({}),
      unhealthyAfter: { notReady: 'never', unknownNode: '5m' },
      backoff: { initial: '10s', factor: 3, max: '10m', jitter: 0.1 },
    });
  });
});
