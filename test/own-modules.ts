import { afterAll, vi } from 'vitest';

/**
 * Files of a process share its modules. A file that replaces some of them imports this before all other code: it then
 * has modules of its own, and leaves none behind.
 */
vi.resetModules();
afterAll(() => void vi.resetModules());
