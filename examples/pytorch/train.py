# Data-parallel training with PyTorch: every rank has its own part of the data, and the gradients are averaged over all
# ranks at each step. Saves a checkpoint every few steps and continues from the last one. Start it with torchrun, or set
# RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
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

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

FOLDER = os.environ["CHECKPOINTS"]
STEPS = int(os.environ.get("STEPS", "1000"))
SAVE_EVERY = int(os.environ.get("SAVE_EVERY", "5"))
# This model takes no time at all, so a step waits instead.
STEP_SECONDS = float(os.environ.get("STEP_SECONDS", "0.2"))
CHECKPOINT = os.path.join(FOLDER, "checkpoint.pt")

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()

# A linear function of 32 inputs, to be learned from noisy samples. The rank alone determines its samples.
truth = torch.randn(32, 1, generator=torch.Generator().manual_seed(0))
samples = torch.Generator().manual_seed(1 + rank)
inputs = torch.randn(256, 32, generator=samples)
targets = inputs @ truth + 0.01 * torch.randn(256, 1, generator=samples)

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.5)


def save(step):
    """Whoever reads it finds a complete checkpoint, whenever this process is killed."""
    temporary = f"{CHECKPOINT}.tmp"
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, temporary)
    os.replace(temporary, CHECKPOINT)


def report(step, loss):
    line = {"step": step, "loss": loss, "time": time.time(), "started": STARTED}
    print(f"step {step} loss {loss:.6f}", flush=True)
    with open(os.path.join(FOLDER, "metrics.jsonl"), "a") as metrics:
        metrics.write(json.dumps(line) + "\n")


step = 0
if os.path.exists(CHECKPOINT):
    saved = torch.load(CHECKPOINT)
    step = saved["step"]
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])

while step < STEPS:
    step += 1
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    total = loss.detach()
    dist.all_reduce(total)
    if rank == 0:
        if step % SAVE_EVERY == 0:
            save(step)
        report(step, total.item() / dist.get_world_size())
    time.sleep(STEP_SECONDS)
dist.barrier()
