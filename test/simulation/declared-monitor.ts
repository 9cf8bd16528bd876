import type { LiveMonitor, LiveMonitors } from '@svc/coordinator/verdict/monitor.ts';

/** The monitors in memory: the one monitor of a world. */
export class DeclaredMonitor implements LiveMonitors {
  current: LiveMonitor | null = null;

  get size(): number {
    return this.current === null ? 0 : 1;
  }

  get(id: number): LiveMonitor | undefined {
    return this.current?.id === id ? this.current : undefined;
  }

  values(): Iterable<LiveMonitor> {
    return this.current === null ? [] : [this.current];
  }

  onChange(): () => void {
    return () => {};
  }
}
