// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import CompilerPluginSupport
import PackageDescription

// Endpoints by macros: `@GET("/users/{id}") struct GetUser { … }`. A package of its own, so that PulseKit needs no
// swift-syntax. `./check` tests the expansions and runs a demo.
let package = Package(
    name: "EndpointMacros",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "EndpointMacros", targets: ["EndpointMacros"])],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        // Wide, so that it does not fix the version of other macros in the same app.
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.0"..<"700.0.0"),
    ],
    targets: [
        .macro(
            name: "EndpointMacrosPlugin",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]),
        .target(
            name: "EndpointMacros",
            dependencies: ["EndpointMacrosPlugin", .product(name: "PulseCore", package: "PulseKit")]),
        .executableTarget(
            name: "Demo",
            dependencies: [
                "EndpointMacros",
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .testTarget(
            name: "EndpointMacrosTests",
            dependencies: [
                "EndpointMacrosPlugin",
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
