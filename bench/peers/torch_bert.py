"""The model of `mtf train bert-pretrain` by transformers, on random words.

    torch_bert.py MODE --bert-config tiny|base|FILE.json --batch 32 --length 128 --predictions 20 ...

Masked words and next sentences, dropout, AdamW with weight decay of all but norms and biases, gradients of norm 1 at
most.  Logits are computed of masked words alone; a tenth of the rows is not full.
"""

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForPreTraining

import torch_training

WORDS = 30592  # 30522, rounded up to 128
NAMED = {"tiny": {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512},
         "base": {}}

a = torch_training.arguments(**{"bert-config": "tiny", "batch": 32, "length": 128, "predictions": 20})
config = BertConfig(**NAMED[a.bert_config]) if a.bert_config in NAMED else BertConfig.from_json_file(a.bert_config)
config.vocab_size, config.hidden_act, config.layer_norm_eps = WORDS, "gelu_pytorch_tanh", 1e-6
net = BertForPreTraining(config).to(a.device).train()


def drawn(most, *shape):
    return torch.randint(0, most, shape, device=a.device)


ids, types = drawn(WORDS, a.batch, a.length), drawn(2, a.batch, a.length)
lengths = torch.full((a.batch, 1), a.length, device=a.device)
lengths[::10] //= 2
mask = (torch.arange(a.length, device=a.device) < lengths).long()
positions, words = drawn(a.length // 2, a.batch, a.predictions), drawn(WORDS, a.batch, a.predictions)
weights, follows = torch.ones(a.batch, a.predictions, device=a.device), drawn(2, a.batch)


def words_loss(logits):
    flat = logits.float().flatten(0, 1)
    each = F.cross_entropy(flat, words.flatten(), reduction="none") + 1e-4 * flat.logsumexp(1) ** 2
    return (each * weights.flatten()).sum() / (weights.sum() + 1e-5)


def loss_of():
    out = net.bert(ids, attention_mask=mask, token_type_ids=types)
    seen = out.last_hidden_state
    masked = seen.gather(1, positions[..., None].expand(-1, -1, seen.shape[-1]))
    follows_or_not = net.cls.seq_relationship(out.pooler_output).float()
    return words_loss(net.cls.predictions(masked)) + F.cross_entropy(follows_or_not, follows)


rates = [{"params": [x for x in net.parameters() if x.ndim > 1], "weight_decay": 0.01},
         {"params": [x for x in net.parameters() if x.ndim < 2], "weight_decay": 0.0}]
torch_training.serve(a, net, loss_of, torch.optim.AdamW(rates, lr=1e-4, fused=True), most_norm=1.0)
