"""export(graph_module, inputs, "m") writes an fx.GraphModule as m.fx.json (docs/fx-json.md), its weights as m.weights.pt."""
import json, math, operator, torch

def argument(a):
    if isinstance(a, torch.fx.Node): return {"graph": a.target} if a.meta.get("is_graph") else {"value": a.name}
    if isinstance(a, (list, tuple)): return [argument(e) for e in a]
    if isinstance(a, complex): return {"complex": [a.real, a.imag]}
    if isinstance(a, float) and not math.isfinite(a): return {"float": str(a)}
    for kind in ("dtype", "layout", "memory_format", "device"):
        if isinstance(a, getattr(torch, kind)): return {kind: str(a).removeprefix("torch.")}
    return a  # None, a bool, an int, a float or a str; json.dump() refuses anything else

def graph(gm, weights):
    out = {"inputs": [], "nodes": [], "outputs": [], "values": {}, "graphs": {}}
    for n, val in [(n, n.meta.get("val")) for n in gm.graph.nodes]:
        if type(val).__name__ in ("SymInt", "SymFloat", "SymBool"):
            out["values"][n.name] = {type(val).__name__[3:].lower(): str(val)}
        elif isinstance(val, torch.Tensor):
            sizes, strides = ([s if isinstance(s, int) else str(s) for s in l] for l in (val.shape, val.stride()))
            out["values"][n.name] = dict(dtype=str(val.dtype)[6:], sizes=sizes, strides=strides, device=str(val.device))
        if n.op == "placeholder": out["inputs"].append({"name": n.name} if n.name in out["values"] else {"constant": val})
        elif n.op == "output": out["outputs"] = argument(torch.utils._pytree.tree_leaves(n.args[0]))
        elif n.op == "get_attr" and isinstance(part := operator.attrgetter(n.target)(gm), torch.fx.GraphModule):
            n.meta["is_graph"], out["graphs"][n.target] = True, graph(part, weights)
        elif n.op == "get_attr":
            kind, weights[n.target] = "parameter" if isinstance(part, torch.nn.Parameter) else "buffer", part.detach().cpu()
            out["inputs"].append({"name": n.name, "kind": kind, "target": n.target})
        elif n.op == "call_function":  # aten.add.Tensor, higher_order.cond, _operator.add, math.trunc, torch.sym_max
            scope = "higher_order" if isinstance(n.target, torch._ops.HigherOrderOperator) else n.target.__module__
            target = str(n.target) if isinstance(n.target, torch._ops.OpOverload) else f"{scope}.{n.target.__name__}"
            out["nodes"].append({"name": n.name, "target": target, "args": argument(n.args), "stack_trace": n.stack_trace,
                                 "kwargs": {k: argument(v) for k, v in n.kwargs.items()}})
        elif n.target != "_guards_fn": raise TypeError(f"{n.op} {n.target}: not a graph of ATen operators")
    return out

def export(gm, inputs, path):
    if not all("val" in n.meta for n in gm.graph.nodes if n.op == "placeholder"):  # from symbolic_trace(): not ATen yet
        gm = torch.export.export(gm, tuple(inputs)).module()
    json.dump({"format": "gcompile-fx", "version": 1, **graph(gm, weights := {})}, open(path + ".fx.json", "w"), indent=1)
    torch.save(weights, path + ".weights.pt")
