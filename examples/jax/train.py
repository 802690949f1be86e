# Data-parallel training with JAX: every rank has its own part of the data, and the compiled step averages the gradients
# over all ranks. Saves a checkpoint every few steps and continues from the last one. COORDINATOR is the address of
# rank 0, RANK and RANKS say who this process is.
import json
import os
import signal
import threading
import time

STARTED = time.time()


def exit_on_sigterm():
    """Exits at once on SIGTERM, also while a collective waits for a lost peer and as the first process of a container,
    where Python ignores the signal. Called before any other thread exists, because threads inherit the mask."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def wait():
        signal.sigwait({signal.SIGTERM})
        os._exit(143)

    threading.Thread(target=wait, daemon=True).start()


exit_on_sigterm()

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

FOLDER = os.environ["CHECKPOINTS"]
STEPS = int(os.environ.get("STEPS", "1000"))
SAVE_EVERY = int(os.environ.get("SAVE_EVERY", "5"))
# This model takes no time at all, so a step waits instead.
STEP_SECONDS = float(os.environ.get("STEP_SECONDS", "0.2"))
CHECKPOINT = os.path.join(FOLDER, "checkpoint.npz")

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(os.environ["RANK"])
jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=int(os.environ["RANKS"]), process_id=rank)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
split = NamedSharding(mesh, PartitionSpec("data"))
everywhere = NamedSharding(mesh, PartitionSpec())

# A linear function of 32 inputs, to be learned from noisy samples. The rank alone determines its samples.
truth = np.random.default_rng(0).normal(size=(32, 1)).astype(np.float32)
random = np.random.default_rng(1 + rank)
own_inputs = random.normal(size=(256, 32)).astype(np.float32)
own_targets = own_inputs @ truth + 0.01 * random.normal(size=(256, 1)).astype(np.float32)
inputs, targets = [jax.make_array_from_process_local_data(split, part) for part in (own_inputs, own_targets)]


@jax.jit
def train(weights, inputs, targets):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)
    return weights - 0.002 * gradient, loss


def save(step, weights):
    """Whoever reads it finds a complete checkpoint, whenever this process is killed."""
    temporary = os.path.join(FOLDER, "checkpoint.tmp.npz")
    np.savez(temporary, step=step, weights=np.asarray(weights))
    os.replace(temporary, CHECKPOINT)


def report(step, loss):
    line = {"step": step, "loss": loss, "time": time.time(), "started": STARTED}
    print(f"step {step} loss {loss:.6f}", flush=True)
    with open(os.path.join(FOLDER, "metrics.jsonl"), "a") as metrics:
        metrics.write(json.dumps(line) + "\n")


step, weights = 0, np.zeros((32, 1), np.float32)
if os.path.exists(CHECKPOINT):
    with np.load(CHECKPOINT) as saved:
        step, weights = int(saved["step"]), saved["weights"]
weights = jax.device_put(weights, everywhere)

while step < STEPS:
    step += 1
    weights, loss = train(weights, inputs, targets)
    loss = float(loss)
    if rank == 0:
        if step % SAVE_EVERY == 0:
            save(step, weights)
        report(step, loss)
    time.sleep(STEP_SECONDS)
